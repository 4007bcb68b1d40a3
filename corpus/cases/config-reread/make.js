// A configuration of about 60 kB.
const c = { theme: 'dark', language: 'en', model: 'm', keys: {} };
for (let i = 0; i < 1500; i++) c.keys['key' + i] = { press: 'ctrl-' + i, does: i };
require('fs').writeFileSync('config.json', JSON.stringify(c));
