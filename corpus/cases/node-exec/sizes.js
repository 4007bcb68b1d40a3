// Sums the sizes of 60 files.
const { execSync } = require('child_process');
const fs = require('fs');
function size(f) {
  if (process.argv[2] === 'exec') return Number(execSync(`wc -c < ${f}`).toString());
  return fs.statSync(f).size;
}
console.log(fs.readdirSync('files').reduce((n, f) => n + size('files/' + f), 0));
