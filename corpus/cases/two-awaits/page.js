// Makes five pages, one after another: each shows the next customer, whom the page before names.
const http = require("http"), crypto = require("crypto");
const [port, how] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });

function get(path) {
  return new Promise((done, failed) => {
    http.get({ port, path, agent, host: "127.0.0.1" }, (answer) => {
      let text = "";
      answer.on("data", (d) => (text += d));
      answer.on("end", () => done(JSON.parse(text)));
    }).on("error", failed);
  });
}

const escape = (s) => s.replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`);
const row = (o, n) => `<tr><td>${o.item + n}<td>${(o.price / 100).toFixed(2)}<td>${escape(o.note)}`;

function table(orders) {
  const rows = [];
  for (let n = 0; n < 100; n++) for (const o of orders) rows.push(row(o, n));
  return rows.sort().join("\n");
}

function totals(orders) {
  const by = new Map();
  for (let n = 0; n < 300; n++)
    for (const o of orders) by.set((o.item * n) % 500, (by.get((o.item * n) % 500) || 0) + o.price);
  return [...by].sort((a, b) => a[0] - b[0]).map(([k, v]) => `${k}: ${v}`).join(", ");
}

async function page(n) {
  let user, orders;
  if (how === "together") {
    [user, orders] = await Promise.all([get(`/user/${n}`), get(`/orders/${n}`)]);
  } else {
    user = await get(`/user/${n}`);
    orders = await get(`/orders/${n}`);
  }
  const html = `<h1>${escape(user.name)}</h1><table>${table(orders)}</table>${totals(orders)}`;
  return crypto.createHash("sha256").update(html).digest();
}

(async () => {
  let n = 7;
  for (let i = 0; i < 5; i++) n = (await page(n)).readUInt16BE(0);
  console.log(n);
  agent.destroy();
})();
