// Resolves 1,500 names along twelve folders and in four forms, and parses each module.
const fs = require('fs');
const skip = process.argv[2] === 'skip';
const known = new Map();
const there = (f) => fs.statSync(f, { throwIfNoEntry: false }) !== undefined;
function folder(d) {
  if (!skip) return true;
  if (!known.has(d)) known.set(d, there(d));
  return known.get(d);
}
function resolve(name) {
  for (let k = 0; k < 12; k++) {
    const d = `a/b${k}/node_modules`;
    if (!folder(d)) continue;
    for (const e of ['', '.js', '.json', '/index.js']) if (there(`${d}/${name}${e}`)) return d;
  }
  return null;
}
function parse(i) {
  let h = i;
  for (let k = 0; k < 60000; k++) h = (h * 31 + k) | 0;
  return h;
}
let n = 0;
for (let i = 0; i < 1500; i++) if (resolve('mod' + i) === null) n += parse(i) & 1;
console.log(n);
