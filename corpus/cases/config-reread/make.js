// A configuration of about 8 kB.
const c = { theme: 'dark', language: 'en', model: 'm', keys: {} };
for (let i = 0; i < 180; i++) c.keys['key' + i] = { press: 'ctrl-' + i, does: i };
require('fs').writeFileSync('config.json', JSON.stringify(c));
