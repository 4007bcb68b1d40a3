// 1,400 modules in 14 folders, and the same in one file.
const fs = require('fs');
let bundle = 'module.exports = [\n';
for (let i = 0; i < 1400; i++) {
  const folder = `mods/d${i % 14}`;
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(`${folder}/m${i}.js`, `module.exports = (x) => x + ${i};\n`);
  bundle += `(x) => x + ${i},\n`;
}
fs.writeFileSync('bundle.js', bundle + '];\n');
