const rows = Array.from({ length: 150000 }, (_, i) => ({ id: i, name: 'row' + i, tags: [i % 7, i % 11] }));
require('fs').writeFileSync('rows.json', JSON.stringify(rows));
