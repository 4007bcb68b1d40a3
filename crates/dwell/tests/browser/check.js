// Opens pages of dwell in a browser and checks what people do with them: `node check.js CHROMIUM
// PAGES.json`, where the file has `[{"file": …, "kind": …, "says": …}]`. Prints what is wrong and
// ends with status 1. No page may reach for anything outside its file.
"use strict";
const fs = require("fs");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const wrong = [];
const expect = (held, what) => { if (!held) wrong.push(what); };

async function open(context, page, seen) {
  const tab = await context.newPage();
  tab.on("console", (message) => { if (message.type() !== "debug") seen.push(`console: ${message.text()}`); });
  tab.on("pageerror", (error) => seen.push(`error: ${error.message}`));
  tab.on("dialog", (dialog) => { seen.push("a dialog"); dialog.dismiss(); });
  tab.on("request", (request) => { if (request.url() !== `file://${page.file}`) seen.push(`request: ${request.url()}`); });
  await tab.goto(`file://${page.file}`);
  return tab;
}

async function accessible(tab, where) {
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const one of found.violations) {
    wrong.push(`${where}: ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }
}

// The page with its scripts: on a phone in the dark, and that of a run on a wide screen and on
// paper as well.
async function look(browser, page) {
  const looks = [[360, "dark"], [1920, "light"]].slice(0, page.kind === "run" ? 2 : 1);
  for (const [width, colorScheme] of looks) {
    const where = `${page.kind} at ${width}, ${colorScheme}`;
    const seen = [];
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, offline: true });
    const tab = await open(context, page, seen);
    const wide = await tab.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(wide[0] <= wide[1], `${where}: ${wide[0]} pixels wide`);
    expect((await tab.textContent("main")).includes(page.says), `${where}: does not say ${page.says}`);
    expect(await tab.evaluate(() => window.hacked === undefined), `${where}: a name was executed`);
    const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = paper.match(/\d+/g).every((channel) => Number(channel) < 60);
    expect(dark === (colorScheme === "dark"), `${where}: the paper is ${paper}`);
    await accessible(tab, where);
    if (width === 1920) {
      const pdf = await tab.pdf({ printBackground: true });
      expect(pdf.length > 10000, `${where}: ${pdf.length} bytes of PDF`);
    }
    seen.forEach((one) => wrong.push(`${where}: ${one}`));
    await context.close();
  }
}

// Without scripts, text and tables are there.
async function plain(browser, page) {
  const context = await browser.newContext({ javaScriptEnabled: false, offline: true });
  const tab = await open(context, page, []);
  expect((await tab.locator("main").innerText()).includes(page.says), `${page.kind} without scripts: does not say ${page.says}`);
  // A load has no table, and a pair of the lab has sentences.
  if (!["load", "lab pair"].includes(page.kind)) {
    expect(await tab.locator("table.data tbody tr").first().isVisible(), `${page.kind} without scripts: no table`);
  }
  expect(await tab.locator(".tools:visible").count() === 0, `${page.kind} without scripts: tools without a use`);
  await context.close();
}

// The page of a run, by keyboard alone but for one drag.
async function use(browser, page) {
  const seen = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true });
  const tab = await open(context, page, seen);
  const press = async (selector, ...keys) => {
    await tab.focus(selector);
    for (const key of keys) await tab.keyboard.press(key);
  };
  // All that can be used is reached by Tab.
  const reached = new Set();
  for (let step = 0; step < 120; step++) {
    await tab.keyboard.press("Tab");
    reached.add(await tab.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.textContent.slice(0, 40)));
  }
  for (const name of ["zoom in", "start of the stretch in milliseconds", "search the flame graph", "filter the table system calls"]) {
    expect(reached.has(name), `Tab does not reach ${name}: ${[...reached].join(", ")}`);
  }
  // Tables sort, both ways, and filter.
  const calls = 'div[aria-label="system calls"] table';
  const column = async () => (await tab.locator(`${calls} tbody tr`).evaluateAll((rows) => rows.map((row) => row.cells[1].textContent))).map((text) => parseFloat(text.replace(/[~,]/g, "")));
  await press(`${calls} thead th:nth-child(2) button`, "Enter");
  const down = await column();
  expect(down.every((one, at) => at === 0 || down[at - 1] >= one), `not sorted: ${down}`);
  await press(`${calls} thead th:nth-child(2) button`, "Enter");
  const up = await column();
  expect(up.every((one, at) => at === 0 || up[at - 1] <= one), `not sorted the other way: ${up}`);
  expect(await tab.getAttribute(`${calls} thead th:nth-child(2)`, "aria-sort") === "ascending", "the order is not said");
  await tab.focus('input[aria-label="filter the table system calls"]');
  await tab.keyboard.type("clone");
  const left = await tab.locator(`${calls} tbody tr:visible`).allTextContents();
  expect(left.length > 0 && left.every((row) => row.includes("clone")), `filtered: ${left}`);
  // The axis zooms, and comes back.
  const box = () => tab.getAttribute(".tall .plot", "viewBox");
  const whole = await box();
  // The lines between threads go with it.
  const lines = () => tab.getAttribute(".links", "viewBox");
  const between = await lines();
  await press('button[aria-label="zoom in"]', "Enter");
  expect(await box() !== whole, "the axis does not zoom");
  expect(await lines() !== between, "hand-overs do not zoom");
  await press('button[aria-label="show the whole run"]', "Enter");
  expect(await box() === whole, `the axis is ${await box()} and not ${whole} again`);
  // A stretch restricts, by keyboard and by mouse.
  const widths = () => tab.locator(".flames > svg > svg").evaluateAll((boxes) => boxes.map((one) => one.getAttribute("width")).join());
  const before = await widths();
  const tables = () => tab.locator("article table.data").evaluateAll((all) => all.map((table) => Array.from(table.rows).map((row) => row.textContent)).flat());
  const figures = await tables();
  await tab.fill('input[aria-label="start of the stretch in milliseconds"]', "10");
  await tab.fill('input[aria-label="end of the stretch in milliseconds"]', "20");
  await tab.keyboard.press("Tab");
  const said = await tab.textContent(".stretch");
  expect(said.includes("10.0 ms to 20.0 ms"), `stretch: ${said}`);
  const [of, others] = said.split("For the whole run");
  for (const name of ["account", "where the time went", "path over time", "hand-overs over time", "flame graph", "threads", "waits", "functions"]) {
    expect(of.includes(name), `${name} is not of the stretch: ${said}`);
  }
  for (const name of ["findings", "system calls", "sums and no times"]) expect(others && others.includes(name), `${name} is not said to be whole: ${said}`);
  expect(said.includes("may sum to less than the stretch"), `sums: ${said}`);
  // Each state and each place is there with its part of the 10 ms.
  const part = await tab.evaluate(() => {
    const sum = (name, head) => {
      const table = document.querySelector(`div[aria-label="${name}"] table`);
      const column = Array.from(table.tHead.rows[0].cells).findIndex((cell) => cell.textContent.trim() === head);
      const unit = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3 };
      return Array.from(table.rows).slice(1).filter((row) => !row.classList.contains("outside")).map((row) => row.cells[column].textContent.trim().split(" "))
        .reduce((sum, [value, of]) => sum + (of ? parseFloat(value) * unit[of] : 0), 0);
    };
    const marks = Array.from(document.querySelectorAll(".of-whole")).map((mark) => mark.nextElementSibling.getAttribute("aria-label"));
    const shares = (head) => {
      const table = document.querySelector('div[aria-label="functions"] table');
      const column = Array.from(table.tHead.rows[0].cells).findIndex((cell) => cell.textContent.trim() === head);
      return Array.from(table.tBodies[0].rows).filter((row) => !row.classList.contains("outside")).map((row) => row.cells[column].textContent.trim());
    };
    return { account: sum("state", "time"), path: sum("where the time went", "time"), threads: sum("threads", "critical path"),
      waits: sum("waits", "critical path"), totals: shares("total"), own: shares("self"), marks };
  });
  for (const name of ["account", "path", "threads"]) {
    expect(Math.abs(part[name] - 10) < 0.1, `the table ${name} has ${part[name]} ms of 10`);
  }
  expect(part.waits <= 10.1, `waits on the path of 10 ms: ${part.waits} ms`);
  // Functions have shares of what ran in the stretch: at most all of it.
  const own = part.own.reduce((sum, share) => sum + (parseFloat(share.replace("~", "")) || 0), 0);
  expect(part.totals.length > 0 && part.totals.every((share) => share.startsWith("~")), `functions: ${part.totals}`);
  expect(own <= 100 + part.own.length / 2, `functions have ${own} % of the stretch themselves: ${part.own}`);
  expect(part.marks.includes("system calls") && !part.marks.includes("waits") && !part.marks.includes("functions"), `of the whole run: ${part.marks}`);
  expect(await widths() !== before, "the flame graph is not of the stretch");
  const clipped = () => tab.evaluate(() => document.querySelector(".links").style.clipPath);
  expect((await clipped()).startsWith("inset"), `hand-overs are not of the stretch: ${await clipped()}`);
  await press("text=clear", "Enter");
  const again = await tables();
  const other = again.findIndex((row, at) => row !== figures[at]);
  expect(again.length === figures.length && other < 0, `tables are not whole again: ${again[other]} for ${figures[other]}`);
  expect(await widths() === before && await clipped() === "", "the flame graph and hand-overs are not whole again");
  const plot = await tab.locator(".tall .plot").boundingBox();
  await tab.mouse.move(plot.x + plot.width * 0.25, plot.y + 20);
  await tab.mouse.down();
  await tab.mouse.move(plot.x + plot.width * 0.5, plot.y + 20);
  await tab.mouse.up();
  expect(await tab.locator(".stretch").isVisible(), "dragging chooses no stretch");
  await accessible(tab, "a stretch");
  // What is said of it fits a phone.
  await tab.setViewportSize({ width: 360, height: 900 });
  const over = await tab.evaluate(() => {
    const box = document.querySelector(".stretch");
    return [box.scrollWidth - box.clientWidth, document.documentElement.scrollWidth - window.innerWidth];
  });
  expect(over.every((pixels) => pixels <= 0), `a stretch on a phone is ${over} pixels too wide`);
  await tab.setViewportSize({ width: 1280, height: 900 });
  // The flame graph is searched, walked and zoomed.
  await tab.focus('input[aria-label="search the flame graph"]');
  await tab.keyboard.type("py_");
  expect(await tab.locator(".flames .found").count() > 0, "nothing is found");
  await press(".flames > svg > svg:first-of-type", "ArrowDown", "Enter");
  const wide = await tab.evaluate(() => document.activeElement.getAttribute("width"));
  expect(parseFloat(wide) === 100, `the chosen box is ${wide} wide`);
  await tab.keyboard.press("Escape");
  seen.forEach((one) => wrong.push(`use: ${one}`));
  await context.close();
}

(async () => {
  const [executablePath, list] = process.argv.slice(2);
  const pages = JSON.parse(fs.readFileSync(list, "utf8"));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 60000 });
  for (const page of pages) {
    await look(browser, page);
    await plain(browser, page);
    if (page.kind === "run") await use(browser, page);
  }
  await browser.close();
  wrong.forEach((one) => console.log(one));
  process.exit(wrong.length > 0 ? 1 : 0);
})().catch((error) => { console.log(error.stack); process.exit(1); });
