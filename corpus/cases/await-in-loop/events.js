// Answers each request after 20 ms.
const http = require('http');
http.createServer((q, a) => setTimeout(() => a.end(q.url.slice(1)), 20))
  .listen(+process.argv[2], '127.0.0.1');
