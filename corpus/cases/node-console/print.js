// Prints 60,000 lines.
const each = process.argv[2] === 'each';
let text = [];
function emit(i) {
  const line = 'line ' + i + ' of ' + (i * 31) % 977;
  if (each) return console.log(line);
  text.push(line);
  if (text.length === 500) {
    console.log(text.join('\n'));
    text = [];
  }
}
for (let i = 0; i < 60000; i++) emit(i);
