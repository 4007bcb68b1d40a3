// Rebuilds when a source changes. Four saves, each after the build of the one before.
const fs = require("fs"), crypto = require("crypto");
const quiet = Number(process.argv[2]);
fs.mkdirSync("src", { recursive: true });
for (const m of ["app", "view", "model"]) fs.writeFileSync(`src/${m}.js`, `exports.${m} = 0;\n`);

function build() {
  const out = [];
  for (const f of fs.readdirSync("src").sort()) {
    const text = fs.readFileSync("src/" + f, "utf8").repeat(2000);
    out.push(text.split(";").map((s) => s.trim().replace(/\bexports\./g, "m.")).join(";"));
  }
  fs.writeFileSync("bundle.js", out.join("\n"));
  return crypto.createHash("sha256").update(out.join("\n")).digest("hex");
}

let saves = 0, timer = null;
function save() {
  fs.writeFileSync("src/app.js", `exports.app = ${++saves};\n`);
}
const watcher = fs.watch("src", () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    console.log(saves, build().slice(0, 16));
    if (saves < 4) save();
    else watcher.close();
  }, quiet);
});
save();
