// Node: one event loop, http, and an upstream. Plans: sleep (a timer), peer, cpu (blocks the loop).
// ARGS: PORT PEER-PORT TRUTH
const fs = require('fs'), http = require('http'), net = require('net')
const [port, peerPort, path] = process.argv.slice(2)
const file = fs.openSync(path, 'a')
const now = () => Number(process.hrtime.bigint())
const idle = []

function burn(ms, truth) {
  const from = now()
  while (now() < from + ms * 1e6);
  truth.cpu += now() - from
}

function ask(ms, truth, then) {
  const peer = idle.pop() || net.connect({ port: peerPort, host: '127.0.0.1', noDelay: true })
  const asked = now()
  peer.once('data', own => {
    idle.push(peer)
    truth.peer += Number(own)
    truth.loop += now() - asked - Number(own)
    then()
  })
  peer.write(ms + '\n')
}

http.createServer((request, response) => {
  const [, plan, ms] = request.url.split('/'), socket = request.socket
  socket.times = (socket.times ?? -1) + 1
  const truth = { port: socket.remotePort, n: socket.times, plan, recv: now(),
    queued: 0, cpu: 0, lock: 0, sleep: 0, peer: 0, loop: 0 }
  const answer = () => {
    burn(plan == 'cpu' ? Number(ms) : 0.1, truth)
    response.writeHead(200, { 'Content-Length': 3 })
    response.end('ok\n')
    truth.sent = now()
    fs.writeSync(file, JSON.stringify(truth) + '\n')
  }
  if (plan == 'peer') ask(ms, truth, answer)
  else if (plan == 'sleep') {
    setTimeout(() => {
      truth.sleep = ms * 1e6
      truth.loop = now() - truth.recv - truth.sleep
      answer()
    }, ms)
  } else answer()
}).listen(port, '127.0.0.1')
