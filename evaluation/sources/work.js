// Work for Node: a server that computes an answer, worker threads, many small files read through
// libuv's pool, and timers.
const { Worker, isMainThread, workerData } = require('worker_threads');

function compute(rounds) {
  let sum = 0;
  for (let i = 1; i < rounds; i++) sum = (sum * 31 + (i % 97) * i) % 1000003;
  return sum;
}

function computeFor(seconds) {
  const end = Date.now() + seconds * 1000;
  let sum = 0;
  while (Date.now() < end) sum += compute(1000000);
  return sum;
}

function ownClock() {
  const { user, system } = process.cpuUsage();
  console.log('own cpu_ns', (user + system) * 1000);
}

function server(port) {
  require('http').createServer((_, answer) => answer.end(compute(200000) + '\n'))
    .listen(port, '127.0.0.1');
}

async function workers(seconds) {
  const ended = [1, 2].map(() => new Promise((resolve) => {
    new Worker(__filename, { workerData: seconds }).on('exit', resolve);
  }));
  await Promise.all(ended);
  ownClock();
}

async function files(seconds, directory) {
  const fs = require('fs/promises');
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    for (const name of await fs.readdir(directory)) {
      await fs.readFile(`${directory}/${name}`);
    }
  }
}

function timers(seconds) {
  const timer = setInterval(() => {}, 20);
  setTimeout(() => clearInterval(timer), seconds * 1000);
}

if (!isMainThread) {
  computeFor(workerData);
} else {
  const [what, number, directory] = process.argv.slice(2);
  const modes = { server, workers, files, timers };
  modes[what](Number(number), directory);
}
