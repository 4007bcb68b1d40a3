// Asks for 30 events.
const http = require('http');
const agent = new http.Agent({ keepAlive: true, maxSockets: 30 });
function get(id) {
  return new Promise((done, failed) => {
    http.get({ host: '127.0.0.1', port: +process.argv[2], path: '/' + id, agent }, (a) => {
      let s = '';
      a.on('data', (d) => (s += d));
      a.on('end', () => done(Number(s)));
    }).on('error', failed);
  });
}
async function page() {
  const ids = Array.from({ length: 30 }, (_, i) => i);
  const events = [];
  if (process.argv[3] === 'each') for (const id of ids) events.push(await get(id));
  else events.push(...(await Promise.all(ids.map(get))));
  console.log(events.reduce((a, b) => a + b));
  agent.destroy();
}
page();
