// A bundler that keeps its modules in memory and parses those again that changed.
function parse(i) {
  const deps = Array.from({ length: 12 }, (_, k) => ({ k, n: 'dep' + (i + k) }));
  return { id: i, source: 'x'.repeat(20) + i, deps };
}
const keep = [];
for (let i = 0; i < 30000; i++) keep.push(parse(i));
let s = 0;
for (let i = 0; i < 80000; i++) {
  const m = parse(i);
  keep[(i * 7919) % keep.length] = m;
  s += m.deps.length;
}
console.log(keep.length, s);
