// "/sync" hashes in the event loop, "/async" in libuv's threads; "/" answers at once.
const crypto = require('crypto');
const http = require('http');
const rounds = 30000;
function check(how, done) {
  if (how === '/sync') {
    crypto.pbkdf2Sync('secret', 'salt', rounds, 32, 'sha256');
    done();
  } else if (how === '/async') {
    crypto.pbkdf2('secret', 'salt', rounds, 32, 'sha256', done);
  } else done();
}
http.createServer((q, a) => check(q.url, () => a.end('ok'))).listen(+process.argv[2], '127.0.0.1');
