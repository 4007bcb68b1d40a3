// Has speedscope, as it is released, open a file from the disk: `node speedscope.js CHROMIUM FILE
// SCRIPT`. SCRIPT is a file to write, by which the file gets into the page, as speedscope's own
// command does it. Prints what is then on the page as JSON: its title, the profile that is chosen,
// the rows of the table by function (total, own, name), and what went wrong.
"use strict";
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

(async () => {
  const [executablePath, file, script] = process.argv.slice(2);
  const content = JSON.stringify(fs.readFileSync(file).toString("base64"));
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, ${content})`);
  const app = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 60000 });
  const context = await browser.newContext({ offline: true, viewport: { width: 1600, height: 4000 } });
  const tab = await context.newPage();
  const errors = [];
  tab.on("pageerror", (error) => errors.push(error.message));
  tab.on("dialog", (dialog) => { errors.push(dialog.message()); dialog.dismiss(); });
  await tab.goto(`file://${app}#localProfilePath=${script}`);
  await tab.waitForFunction(() => document.title.endsWith(" - speedscope"), null, { timeout: 60000 });
  // The view by function.
  await tab.keyboard.press("3");
  await tab.getByText("Symbol Name").waitFor({ timeout: 60000 });
  const rows = await tab.$$eval("tr", (all) => all
    .filter((row) => row.cells.length === 3 && row.offsetParent !== null && row.cells[0].tagName === "TD")
    .map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
  const chosen = (await tab.innerText("body")).split("\n").find((line) => /\(\d+\/\d+\)$/.test(line)) ?? "";
  console.log(JSON.stringify({ title: await tab.title(), chosen, rows, errors }));
  await browser.close();
})().catch((error) => { console.log(error.stack); process.exit(1); });
