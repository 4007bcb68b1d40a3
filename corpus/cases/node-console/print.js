// Prints 40,000 lines.
const each = process.argv[2] === 'each';
let text = [];
function emit(i) {
  let h = i;
  for (let k = 0; k < 2500; k++) h = (h * 31 + k) | 0;
  const line = 'line ' + i + ' has ' + h;
  if (each) return console.log(line);
  text.push(line);
  if (text.length === 500) {
    console.log(text.join('\n'));
    text = [];
  }
}
for (let i = 0; i < 40000; i++) emit(i);
