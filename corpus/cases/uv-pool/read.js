// Reads four devices, and meanwhile makes 16 hashes, one after another.
const fs = require('fs').promises;
const { promisify } = require('util');
const hash = promisify(require('crypto').pbkdf2);
async function read(i) {
  return Number(await fs.readFile('device' + i, 'utf8'));
}
async function hashes() {
  let n = 0;
  for (let i = 0; i < 16; i++) n += (await hash('secret' + i, 'salt', 12000, 32, 'sha256'))[0];
  return n;
}
const reads = [0, 1, 2, 3].map(read);
setTimeout(() => Promise.all([...reads, hashes()]).then((all) => console.log(all.join(' '))), 20);
