// Compresses ten blocks with two workers, each of which takes the next block when it is done.
'use strict';

const { Worker, isMainThread, parentPort } = require('worker_threads');
const zlib = require('zlib');

const BLOCKS = 10;
const SIZE = 1 << 20;

function block(number) {
  const bytes = Buffer.alloc(SIZE);
  let state = number + 1;
  for (let i = 0; i < SIZE; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = 97 + ((state >>> 24) % 14);
  }
  return bytes;
}

if (isMainThread) {
  let next = 0;
  let total = 0;
  for (let i = 0; i < 2; i++) {
    const worker = new Worker(__filename);
    const give = () => worker.postMessage(next < BLOCKS ? next++ : -1);
    worker.on('message', (size) => {
      total += size;
      give();
    });
    give();
  }
  process.on('exit', () => console.log(total));
} else {
  parentPort.on('message', (number) => {
    if (number < 0) {
      parentPort.close();
      return;
    }
    parentPort.postMessage(zlib.deflateSync(block(number), { level: 6 }).length);
  });
}
