// Sorts the names of tracks the way people number them, and writes the pages of the list.
'use strict';

const crypto = require('crypto');

const names = [];
let state = 42;
for (let i = 0; i < 2600; i++) {
  state = (state * 1103515245 + 12345) % 2147483648;
  names.push(`Track ${state % 997} - Café take ${(state >> 8) % 31}`);
}

function compareEach(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

const collator = new Intl.Collator('en', { numeric: true });
function compareKept(a, b) {
  return collator.compare(a, b);
}

names.sort(process.argv[2] === 'kept' ? compareKept : compareEach);

// The pages of the list, as they are kept on disk and read again.
let size = 0;
const sum = crypto.createHash('sha256');
for (let page = 0; page < 80; page++) {
  const rows = names.map((name, at) => ({ at, name, title: name.split(' - ')[page % 2], page }));
  const text = JSON.stringify(rows);
  sum.update(text);
  for (const row of JSON.parse(text)) {
    size += row.title.replace(/[aeiou]/g, '').toUpperCase().length;
  }
}
console.log(names[0], '|', names[names.length - 1], '|', names[1300], '|', size, sum.digest('hex'));
