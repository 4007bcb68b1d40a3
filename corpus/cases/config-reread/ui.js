// Draws 250 frames; each looks at five settings.
const fs = require('fs');
let kept;
function readConfig() {
  if (kept) return kept;
  const c = JSON.parse(fs.readFileSync('config.json', 'utf8'));
  if (process.argv[2] === 'keep') kept = c;
  return c;
}
function draw(frame) {
  let h = frame;
  for (let k = 0; k < 500000; k++) h = (h * 31 + k) | 0;
  return h & 1;
}
const setting = (name) => readConfig()[name];
let n = 0;
for (let frame = 0; frame < 250; frame++) {
  n += draw(frame);
  for (const name of ['theme', 'language', 'model', 'theme', 'model']) n += setting(name).length;
}
console.log(n);
