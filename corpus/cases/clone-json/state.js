const users = Array.from({ length: 2500 }, (_, i) => ({ id: i, name: `user ${i}`, tags: ['a', 'b', String(i)] }));
let state = { users, seen: 0 };

function reduce(state, seen) {
  if (process.argv[2] === 'json') {
    const copy = JSON.parse(JSON.stringify(state));
    copy.seen = seen;
    return copy;
  }
  return { ...state, seen };
}

let sum = 0;
for (let change = 1; change <= 250; change++) {
  state = reduce(state, change);
  for (const user of state.users) sum = (sum * 31 + user.id) % 1000003;
}
console.log(state.seen, sum);
