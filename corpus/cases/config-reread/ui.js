// Draws 120 frames; each looks at five settings.
const fs = require('fs');
let kept;
function readConfig() {
  if (kept) return kept;
  const c = JSON.parse(fs.readFileSync('config.json', 'utf8'));
  if (process.argv[2] === 'keep') kept = c;
  return c;
}
const setting = (name) => readConfig()[name];
let n = 0;
for (let frame = 0; frame < 120; frame++) {
  for (const name of ['theme', 'language', 'model', 'theme', 'model']) n += setting(name).length;
}
console.log(n);
