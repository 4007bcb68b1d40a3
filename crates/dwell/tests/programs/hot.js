// Functions that a compiler at run time makes into machine code and names in its perf map.
function scatter(value, rounds) {
  for (let i = 0; i < rounds; i++) value = (Math.imul(value, 16777619) ^ i) | 0;
  return value;
}
function turn(value) {
  return scatter(value, 50000) + 1;
}
let value = 1;
for (const begun = Date.now(); Date.now() - begun < 700; ) value = turn(value) | 0;
console.log(value !== undefined);
