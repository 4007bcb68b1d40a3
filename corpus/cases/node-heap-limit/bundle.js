// A bundler that keeps its modules in memory.
const keep = [];
function parse(i) {
  const deps = Array.from({ length: 12 }, (_, k) => ({ k, n: 'dep' + (i + k) }));
  return { id: i, source: 'x'.repeat(20) + i, deps };
}
for (let i = 0; i < 45000; i++) keep.push(parse(i));
let s = 0;
for (let r = 0; r < 10; r++) for (let i = 0; i < 10000; i++) s += parse(i).deps.length;
console.log(keep.length, s);
