// Counts rows by their tags.
const rows = JSON.parse(require('fs').readFileSync('rows.json', 'utf8'));
const n = new Map();
for (const r of rows) for (const t of r.tags) n.set(t, (n.get(t) || 0) + r.id);
console.log(rows.length, [...n.values()].reduce((a, b) => a + b));
