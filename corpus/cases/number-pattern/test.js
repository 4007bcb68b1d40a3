// Tests a few long runs of digits that end in a sign that does not fit.
const nested = /^((?:\d(?:[,_]\d|\d)*)*)(?:\.\d+)?$/;
const flat = /^(?:\d(?:[,_]?\d)*)?(?:\.\d+)?$/;
const pattern = process.argv[2] === 'nested' ? nested : flat;
function isNumber(s) {
  return pattern.exec(s) !== null;
}
let n = 0;
for (let i = 0; i < 6; i++) {
  n += isNumber('1'.repeat(22) + '!') ? 1 : 0;
  n += isNumber('12,345') ? 1 : 0;
}
console.log(n);
