// What a page does with JavaScript: tables sort and filter, the axis of time zooms, a stretch of
// time restricts what the result has times for, the flame graph is searched and zoomed. Text of
// programs becomes text nodes only.
"use strict";
(function () {
  const NS = "http://www.w3.org/2000/svg";
  const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, days: 8.64e13,
    B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776,
    "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "%": 1 };

  // States that are called otherwise on a page than in the JSON.
  const WORDS = { runqueue: "waiting for a CPU", fault: "page faults" };

  function make(tag, attributes, ...children) {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") Object.entries(value).forEach(([event, run]) => one.addEventListener(event, run));
      else one.setAttribute(name, value);
    }
    one.append(...children);
    return one;
  }
  function shape(tag, attributes) {
    const one = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    return one;
  }
  function duration(ns) {
    for (const [unit, limit] of [["ns", 1e3], ["us", 1e6], ["ms", 1e9], ["s", 6e10 * 16.65], ["min", 3.6e12 * 1.665], ["h", Infinity]]) {
      if (ns < limit * 0.9995 || unit === "h") {
        const value = ns / UNITS[unit];
        const digits = unit === "ns" || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
        return value.toFixed(digits) + " " + unit;
      }
    }
    return "";
  }
  function percent(part) {
    if (part <= 0) return "0 %";
    if (part < 0.01) return "<1 %";
    if (part < 1 && part >= 0.995) return ">99 %";
    return Math.round(part * 100) + " %";
  }

  // Tables.
  function figure(text) {
    const found = /^[~\u2265<>]*\s*(-?[\d,]*\.?\d+)(?:[\u2013-][\d.,<>]+)?(?:\s+(\S+))?/.exec(text);
    if (!found) return null;
    const unit = found[2] ? UNITS[found[2].replace(/[,;]$/, "")] : 1;
    return parseFloat(found[1].replace(/,/g, "")) * (unit || 1) - (text.startsWith("<") ? 1e-9 : 0);
  }
  function sort(table, column, button) {
    const head = button.closest("th");
    const down = head.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const key = (row) => row.cells[column].textContent.trim();
    const numeric = head.classList.contains("n");
    const rows = Array.from(body.rows).map((row, at) => ({ row, at, text: key(row), value: numeric ? figure(key(row)) : null }));
    const order = (a, b) => numeric
      ? (a.value === null ? -Infinity : a.value) - (b.value === null ? -Infinity : b.value)
      : b.text.localeCompare(a.text, undefined, { numeric: true });
    rows.sort((a, b) => (down ? -order(a, b) : order(a, b)) || a.at - b.at);
    body.append(...rows.map((one) => one.row));
    fold(table);
  }
  // The first rows; the rest on request.
  const FEW = 12;
  function fold(table) {
    Array.from(table.tBodies[0].rows).forEach((row, at) => row.classList.toggle("more", at >= FEW));
  }
  function folded(table, name) {
    const many = table.tBodies[0].rows.length;
    if (many <= FEW + 3) return;
    fold(table);
    const button = make("button", { type: "button", class: "b rows", "aria-expanded": "false" });
    const said = () => { button.textContent = table.classList.contains("all") ? "fewer rows" : `all ${many} rows of ${name}`; };
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(table.classList.toggle("all")));
      said();
    });
    said();
    table.parentElement.after(button);
  }
  function tables() {
    document.querySelectorAll("table.data").forEach((table) => {
      Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
        const button = make("button", { type: "button" });
        button.append(...head.childNodes);
        button.addEventListener("click", () => sort(table, column, button));
        head.append(button);
      });
      const name = table.parentElement.getAttribute("aria-label");
      folded(table, name);
      if (!table.hasAttribute("data-filter")) return;
      const input = make("input", { type: "search", class: "filter", placeholder: "filter " + name,
        "aria-label": "filter the table " + name });
      input.addEventListener("input", () => {
        const wanted = input.value.toLowerCase();
        table.classList.toggle("found", wanted !== "");
        for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      });
      table.parentElement.before(input);
    });
  }
  function scrollers() {
    const check = () => document.querySelectorAll(".scroll, pre").forEach((one) => {
      if (one.scrollWidth > one.clientWidth + 1) one.setAttribute("tabindex", "0");
      else one.removeAttribute("tabindex");
    });
    check();
    window.addEventListener("resize", check);
    document.addEventListener("toggle", check, true);
  }

  // Tables of a stretch of time. Returns what restricts them to `[from, to]` in nanoseconds, and to
  // the whole run without one: it says which tables are of the stretch, and which are not and why.
  // `sums` has the account of the stretch, and `boxes` the flame graph's.
  function restriction(article, number, wall) {
    const data = document.querySelector(`script.times[data-of="${number}"]`);
    const times = data ? JSON.parse(data.textContent) : null;
    const all = Array.from(article.querySelectorAll("table.data")).map((table) => ({
      table, name: table.parentElement.getAttribute("aria-label"), body: Array.from(table.tBodies[0].rows),
      rows: Array.from(table.querySelectorAll("tbody tr, tfoot tr")),
      heads: Array.from(table.tHead.rows[0].cells).map((cell) => cell.textContent.trim()) }));
    const bar = article.querySelector(".account svg.bar");
    const parts = bar ? Array.from(bar.children) : [];
    const label = bar ? bar.getAttribute("aria-label") : "";
    const whole = new Map();
    const marks = [];

    function put(cell, ...text) {
      if (!whole.has(cell)) whole.set(cell, Array.from(cell.childNodes));
      cell.replaceChildren(...text);
    }
    // Rows with their figures, by the head of the column; those without `ns` are not of the stretch.
    function fill(one, of) {
      one.figures = one.rows.map((row, at) => of(at));
      one.rows.forEach((row, at) => {
        const { ns, cells } = one.figures[at];
        Object.entries(cells || {}).forEach(([head, text]) => {
          const column = one.heads.indexOf(head);
          if (column > 0) put(row.cells[column], text);
        });
        row.classList.toggle("outside", !(ns > 0) && one.body.includes(row));
      });
    }
    function order(one) {
      const by = new Map(one.rows.map((row, at) => [row, one.figures[at].ns || 0]));
      one.table.tHead.querySelectorAll("th").forEach((head) => head.removeAttribute("aria-sort"));
      one.table.tBodies[0].append(...one.body.slice().sort((a, b) => by.get(b) - by.get(a)));
      fold(one.table);
    }
    function clear() {
      whole.forEach((nodes, cell) => cell.replaceChildren(...nodes));
      whole.clear();
      marks.splice(0).forEach((mark) => mark.remove());
      for (const one of all.filter((one) => one.figures)) {
        one.rows.forEach((row) => row.classList.remove("outside"));
        one.table.tHead.querySelectorAll("th").forEach((head) => head.removeAttribute("aria-sort"));
        one.table.tBodies[0].append(...one.body);
        fold(one.table);
        one.figures = null;
      }
      if (bar) {
        bar.replaceChildren(...parts);
        bar.setAttribute("aria-label", label);
      }
    }
    function columns(part) {
      const eighths = Math.floor(part * 80);
      const text = "\u2588".repeat(Math.floor(eighths / 8)) + ["", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"][eighths % 8];
      return make("span", { class: "blocks" }, text);
    }
    function account(sums, sum) {
      let at = 0;
      const drawn = times.states.map((state, place) => {
        const share = (sums[state] || 0) / sum;
        const text = `${WORDS[state] || state} ${percent(share)}`;
        const part = parts[place].cloneNode(true);
        part.setAttribute("x", (at * 100).toFixed(3) + "%");
        part.setAttribute("width", (share * 100).toFixed(3) + "%");
        part.querySelector("title").textContent = text;
        part.querySelectorAll("text").forEach((old) => old.remove());
        if (text.length * 0.009 <= share) {
          const shown = shape("text", text.length * 0.024 <= share ? { x: 8, y: 23 } : { class: "wide", x: 8, y: 23 });
          shown.textContent = text;
          part.append(shown);
        }
        at += share;
        return part;
      });
      bar.replaceChildren(...drawn);
      bar.setAttribute("aria-label", "account of the stretch: " + times.states.map((state) => `${WORDS[state] || state} ${percent((sums[state] || 0) / sum)}`).join(", "));
    }

    return function (range, sums, boxes) {
      clear();
      if (!range || !times) return null;
      const [from, to] = range;
      const sum = Object.values(sums).reduce((sum, ns) => sum + ns, 0) || 1;
      const time = (ns) => ns > 0 ? duration(ns) : "0";
      const inside = (row, slice) => {
        let ns = 0;
        for (let place = 0; place < row.length; place += 2) {
          const start = row[place] * slice, end = Math.min(start + slice, wall);
          const part = Math.min(to, end) - Math.max(from, start);
          if (part > 0) ns += row[place + 1] * part / (end - start);
        }
        return ns;
      };
      const within = (start, end) => ({ ns: Math.min(to, end) - Math.max(from, start) });
      // Time of rows on a CPU by samples, as shares of all that ran in the stretch.
      const code = (name) => {
        const of = times[name];
        if (!of) return null;
        const all = inside(of.all.rows[0], of.all.slice_ns);
        const share = (ns) => ns > 0 && all > 0 ? "~" + percent(ns / all) : "0 %";
        return (at) => {
          if (at >= of.total.rows.length) return { ns: 0, cells: { total: "\u2013", self: "\u2013", samples: "\u2013" } };
          const ns = inside(of.total.rows[at], of.total.slice_ns);
          const own = of.own ? inside(of.own.rows[at], of.own.slice_ns) : 0;
          return { ns, cells: { total: share(ns), self: share(own), samples: "\u2013" } };
        };
      };
      const known = {
        state: parts.length === times.states.length && ((at) => {
          const ns = sums[times.states[at]] || 0;
          return { ns, cells: { share: percent(ns / sum), time: time(ns), interval: "\u2013" } };
        }),
        "where the time went": times.places && ((at) => {
          const ns = inside(times.places.rows[at] || [], times.places.slice_ns);
          return { ns, cells: { share: percent(ns / sum), part: columns(ns / sum), time: time(ns), count: "\u2013" } };
        }),
        waits: times.waits && ((at) => {
          const unknown = times.waits_unknown.includes(at);
          const ns = inside(times.waits.rows[at] || [], times.waits.slice_ns);
          const on_path = unknown ? "\u2013" : time(ns);
          const cells = { count: "\u2013", total: "\u2013", p50: "\u2013", p99: "\u2013", max: "\u2013", "critical path": on_path, active: on_path };
          return { ns: unknown ? Number.MIN_VALUE : ns, cells };
        }),
        functions: code("functions"),
        lines: code("lines"),
        "from start": times.steps.length > 0 && ((at) => within(...times.steps[at])),
        "hand-overs over time": times.hand_overs.length > 0 && ((at) => ({ ns: times.hand_overs[at] >= from && times.hand_overs[at] <= to ? 1 : 0 })),
        "function": boxes && ((at) => {
          const box = boxes.order[at];
          if (box === undefined) return { ns: 1, cells: {} };
          const ns = boxes.totals[box];
          return { ns, cells: { share: percent(ns / boxes.all), total: time(ns), self: time(boxes.own[box]) } };
        }),
        threads: Object.keys(times.threads).length > 0 && ((at) => {
          const cells = {};
          let most = 0;
          one("threads").heads.slice(1).forEach((head) => {
            const of = times.threads[head];
            const ns = of ? inside(of.rows[at] || [], of.slice_ns) : 0;
            cells[head] = !of ? "\u2013" : head === "critical path" || ns === 0 ? time(ns) : "~" + time(ns);
            most = Math.max(most, ns);
          });
          return { ns: most, cells };
        }),
      };
      const one = (name) => all.find((one) => one.name === name);
      const done = new Set();
      for (const [name, of] of Object.entries(known)) {
        if (!of || !one(name)) continue;
        fill(one(name), of);
        // Those that are in order of time stay so, and those with the program's own code first.
        if (["from start", "hand-overs over time", "functions", "lines"].includes(name)) fold(one(name).table);
        else order(one(name));
        done.add(one(name));
      }
      if (known.state) account(sums, sum);
      const others = all.filter((one) => !done.has(one));
      for (const { table } of others) {
        const mark = make("p", { class: "dim of-whole" }, "of the whole run:");
        table.parentElement.before(mark);
        marks.push(mark);
      }
      const called = { state: "account", "from start": "path over time", "function": "flame graph" };
      const names = (of) => [...new Set(of.map((one) => called[one.name] || one.name))].join(", ");
      // What others would need.
      const timed = (one) => Object.keys(known).includes(one.name);
      return { restricted: names([...done]), slice: times.places ? times.places.slice_ns : null,
        sums: names(others.filter((one) => !timed(one))), unknown: names(others.filter(timed)) };
    };
  }

  // The axis of time. `shown` and `chosen` are parts of the wall clock, 0 to 1.
  function timeline(article, number, result, flame) {
    const section = article.querySelector(".timeline");
    if (!section) return;
    const wall = Number(section.dataset.wall);
    const plots = Array.from(section.querySelectorAll(".plot"));
    const links = section.querySelector(".links");
    const ticks = section.querySelector(".ticks");
    const stretch = section.querySelector(".stretch");
    const tools = section.querySelector(".tools");
    const restrict = restriction(article, number, wall);
    let shown = [0, 1];
    let chosen = null;

    function step(length) {
      const least = Math.max(length / 6, 1);
      const power = Math.pow(10, Math.floor(Math.log10(least)));
      return [1, 2, 5, 10].map((times) => times * power).find((one) => one >= least);
    }
    function draw() {
      const [from, to] = shown;
      plots.forEach((plot) => {
        plot.setAttribute("viewBox", `${from * 10000} 0 ${(to - from) * 10000} 100`);
        plot.querySelectorAll(".chosen").forEach((old) => old.remove());
        if (chosen) plot.append(shape("rect", { class: "chosen", x: chosen[0] * 10000, y: 0,
          width: (chosen[1] - chosen[0]) * 10000, height: 100 }));
      });
      if (links) {
        const part = (at) => (at - from) / (to - from) * 100;
        links.setAttribute("viewBox", `${from * 10000} 0 ${(to - from) * 10000} ${links.viewBox.baseVal.height}`);
        links.style.clipPath = chosen ? `inset(0 ${100 - part(chosen[1])}% 0 ${part(chosen[0])}%)` : "";
      }
      ticks.replaceChildren();
      const each = step((to - from) * wall);
      for (let at = Math.ceil(from * wall / each) * each; at < to * wall; at += each) {
        const tick = shape("svg", { x: ((at / wall - from) / (to - from) * 100).toFixed(2) + "%", overflow: "visible" });
        const text = shape("text", { x: 2, y: 17 });
        text.textContent = at === 0 ? "0" : duration(at).replace(/\.0+ /, " ").replace(/(\.\d*?)0+ /, "$1 ");
        tick.append(shape("path", { d: "M0 0v5" }), text);
        ticks.append(tick);
      }
    }
    function show(from, to) {
      const wide = Math.min(Math.max(to - from, 1e-5), 1);
      const start = Math.min(Math.max(from, 0), 1 - wide);
      shown = [start, start + wide];
      draw();
    }
    function zoom(factor, about) {
      const [from, to] = shown;
      const middle = about === undefined ? (from + to) / 2 : about;
      show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }
    function choose(range) {
      chosen = range && range[1] - range[0] > 0 ? [Math.max(range[0], 0), Math.min(range[1], 1)] : null;
      fields[0].value = chosen ? (chosen[0] * wall / 1e6).toFixed(3) : "";
      fields[1].value = chosen ? (chosen[1] * wall / 1e6).toFixed(3) : "";
      draw();
      restricted(flame ? flame(chosen) : null);
    }

    // What the page has times for: the path, threads, hand-overs, stacks, and what the host did.
    function within(step, index) {
      const from = Math.max(chosen[0] * wall, index * step);
      const to = Math.min(chosen[1] * wall, (index + 1) * step);
      return Math.max(to - from, 0) / step;
    }
    function restricted(boxes) {
      stretch.hidden = chosen === null;
      stretch.replaceChildren();
      if (!chosen) {
        restrict(null);
        return;
      }
      const [from, to] = chosen.map((at) => at * wall);
      const sums = {};
      result.phases.slices.forEach((slice, index) => {
        const end = Math.min((index + 1) * result.phases.slice_ns, wall);
        const long = end - index * result.phases.slice_ns;
        const part = Math.max(Math.min(to, end) - Math.max(from, index * result.phases.slice_ns), 0) / Math.max(long, 1);
        for (const [state, ns] of Object.entries(slice)) sums[state] = (sums[state] || 0) + ns * part;
      });
      const whole = Object.values(sums).reduce((sum, ns) => sum + ns, 0);
      const rows = Object.entries(sums).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
      const body = make("tbody");
      for (const [state, ns] of rows) {
        body.append(make("tr", {}, make("th", { scope: "row" }, make("span", { class: "t-" + state }, WORDS[state] || state)),
          make("td", { class: "n" }, percent(ns / whole)), make("td", { class: "n" }, duration(ns))));
      }
      const table = make("table", { class: "data" }, make("thead", {}, make("tr", {},
        make("th", { scope: "col" }, "account of the stretch"), make("th", { scope: "col", class: "n" }, "share"),
        make("th", { scope: "col", class: "n" }, "time"))), body);
      stretch.append(make("h3", {}, `${duration(from)} to ${duration(to)}: ${duration(to - from)} of ${duration(wall)}`), table);
      const host = metrics();
      if (host) stretch.append(make("p", {}, "in that time: " + host));
      const told = restrict([from, to], sums, boxes);
      if (!told) return;
      const said = (text) => stretch.append(make("p", { class: "dim" }, text));
      said("For this stretch: the pictures, and the tables " + told.restricted +
        ", whose waits are those on the critical path. Figures with ~ are estimates from samples and from waits with stacks; \u2013 is unknown for a stretch.");
      if (told.slice !== null) {
        said("Places, waits and threads may sum to less than the stretch: their times are kept in slices of " + duration(told.slice) +
          ", and a slice leaves out what is no place of the whole run.");
      }
      said("For the whole run: the findings, and the sentences beside tables" +
        (told.sums ? "; the tables " + told.sums + ", which have sums and no times" : "") +
        (told.unknown ? "; the tables " + told.unknown + ", whose times only a recording (--keep) has, and only if no rows were put together" : "") + ".");
    }
    function mean(points) {
      let sum = 0, weight = 0;
      points.forEach((point, index) => {
        const part = within(result.series.step_ns, index);
        if (part > 0 && point !== null) { sum += point * part; weight += part; }
      });
      return weight > 0 ? sum / weight : null;
    }
    function metrics() {
      const series = result.series;
      if (!series || !series.step_ns) return "";
      const said = [];
      const of = (list, one) => { if (Array.isArray(list)) list.slice(0, 3).forEach(one); };
      of(series.cpu, (cpu) => said.push(`CPUs busy ${percent(mean(cpu.busy_share))}, by other programs ${percent(mean(cpu.others_share))}`));
      of(series.disks, (disk) => said.push(`disk ${disk.name} busy ${percent(mean(disk.busy_share))}`));
      of(series.links, (link) => said.push(`link ${link.name} ${(mean(link.payload_bits_per_s) / 1e6).toPrecision(3)} Mb/s`));
      of(series.memory, (memory) => said.push(`memory available ${percent(mean(memory.available_bytes) / memory.total_bytes)}`));
      return said.join("; ");
    }

    const button = (text, label, run) => make("button", { type: "button", class: "b", "aria-label": label, on: { click: run } }, text);
    const field = (name) => make("input", { type: "number", min: "0", max: String(wall / 1e6), step: "any", "aria-label": name + " of the stretch in milliseconds" });
    const fields = [field("start"), field("end")];
    const apply = () => {
      const [from, to] = fields.map((one) => parseFloat(one.value) * 1e6 / wall);
      if (to > from) choose([from, to]);
    };
    fields.forEach((one) => one.addEventListener("change", apply));
    tools.append(button("+", "zoom in", () => zoom(0.5)), button("\u2212", "zoom out", () => zoom(2)),
      button("\u2190", "earlier", () => show(shown[0] - (shown[1] - shown[0]) / 2, shown[1] - (shown[1] - shown[0]) / 2)),
      button("\u2192", "later", () => show(shown[0] + (shown[1] - shown[0]) / 2, shown[1] + (shown[1] - shown[0]) / 2)),
      button("whole", "show the whole run", () => show(0, 1)),
      make("label", {}, "stretch", fields[0], "to", fields[1], "ms"),
      button("zoom to stretch", "zoom to stretch", () => { if (chosen) show(chosen[0], chosen[1]); }),
      button("clear", "clear the stretch", () => choose(null)));
    tools.hidden = false;
    section.querySelector(".tracks").before(tools);

    let begun = null;
    const place = (event) => {
      const box = plots[0].getBoundingClientRect();
      return shown[0] + Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * (shown[1] - shown[0]);
    };
    plots.forEach((plot) => {
      plot.addEventListener("pointerdown", (event) => {
        if (event.button === 0 && event.pointerType !== "touch") { begun = place(event); plot.setPointerCapture(event.pointerId); event.preventDefault(); }
      });
      plot.addEventListener("pointermove", (event) => {
        if (begun === null) return;
        chosen = [Math.min(begun, place(event)), Math.max(begun, place(event))];
        draw();
      });
      plot.addEventListener("pointerup", (event) => {
        if (begun === null) return;
        const ends = [begun, place(event)].sort((a, b) => a - b);
        begun = null;
        choose(ends[1] - ends[0] > (shown[1] - shown[0]) / 200 ? ends : null);
      });
      plot.addEventListener("wheel", (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event));
      }, { passive: false });
    });
  }

  // The flame graph: `boxes` are in the order of their callers, each a nested svg.
  function flames(article, number) {
    const section = article.querySelector(".flame");
    const data = document.querySelector(`script.boxes[data-of="${number}"]`);
    if (!section || !data) return null;
    const [parents, bins, order] = JSON.parse(data.textContent);
    const boxes = Array.from(section.querySelectorAll(".flames > svg > svg"));
    const names = boxes.map((box) => box.querySelector("text").textContent);
    const depth = [];
    parents.forEach((parent, at) => depth.push(parent < 0 ? 0 : depth[parent] + 1));
    const whole = boxes.map((box) => parseFloat(box.getAttribute("width")) / 100);
    let totals = whole, starts = boxes.map((box) => parseFloat(box.getAttribute("x")) / 100);
    const wholeStarts = starts;
    let top = -1;
    const tools = section.querySelector(".tools");
    const said = make("span", { class: "dim", role: "status" });

    function draw() {
      const from = top < 0 ? 0 : starts[top];
      const wide = top < 0 ? 1 : totals[top];
      const chain = new Set();
      for (let at = top; at >= 0; at = parents[at]) chain.add(at);
      boxes.forEach((box, at) => {
        const over = chain.has(at) && at !== top;
        const x = over ? 0 : (starts[at] - from) / wide, w = over ? 1 : totals[at] / wide;
        const visible = w > 0.0005 && x + w > 1e-6 && x < 1 - 1e-6;
        box.style.display = visible ? "" : "none";
        box.setAttribute("x", (x * 100).toFixed(3) + "%");
        box.setAttribute("width", (w * 100).toFixed(3) + "%");
      });
    }
    function found(wanted) {
      const text = wanted.toLowerCase();
      const hits = names.map((name) => text !== "" && name.toLowerCase().includes(text));
      let share = 0;
      boxes.forEach((box, at) => {
        box.classList.toggle("found", hits[at]);
        box.classList.toggle("unfound", text !== "" && !hits[at]);
        let above = parents[at];
        while (above >= 0 && !hits[above]) above = parents[above];
        if (hits[at] && above < 0) share += totals[at];
      });
      said.textContent = text === "" ? "" : `${hits.filter(Boolean).length} boxes, ${percent(share)} of the time`;
    }
    const search = make("input", { type: "search", placeholder: "search functions", "aria-label": "search the flame graph" });
    search.addEventListener("input", () => found(search.value));
    const reset = make("button", { type: "button", class: "b" }, "whole");
    reset.addEventListener("click", () => zoom(-1));
    tools.append(search, reset, said);
    tools.hidden = false;

    let at = 0;
    function focus(next) {
      boxes[at].setAttribute("tabindex", "-1");
      at = next;
      boxes[at].setAttribute("tabindex", "0");
      boxes[at].focus();
    }
    function zoom(to) {
      top = to;
      draw();
    }
    section.querySelector(".flames > svg").setAttribute("role", "group");
    boxes.forEach((box, index) => {
      box.setAttribute("tabindex", index === 0 ? "0" : "-1");
      box.setAttribute("role", "button");
      box.setAttribute("aria-label", box.querySelector("title").textContent);
      box.addEventListener("click", () => zoom(top === index ? -1 : index));
      box.addEventListener("keydown", (event) => {
        const visible = (other) => boxes[other].style.display !== "none";
        const siblings = boxes.map((_, other) => other).filter((other) => depth[other] === depth[index] && visible(other));
        const place = siblings.indexOf(index);
        const moves = {
          ArrowUp: () => parents[index],
          ArrowDown: () => boxes.findIndex((_, other) => parents[other] === index && visible(other)),
          ArrowLeft: () => siblings[place - 1], ArrowRight: () => siblings[place + 1],
        };
        if (event.key === "Enter" || event.key === " ") { zoom(top === index ? -1 : index); event.preventDefault(); }
        else if (event.key === "Escape") zoom(-1);
        else if (moves[event.key]) {
          const next = moves[event.key]();
          if (next !== undefined && next >= 0) focus(next);
          event.preventDefault();
        }
      });
    });

    // The boxes of a stretch of time: from the parts of their own time in it.
    return function (chosen) {
      let told = null;
      top = -1;
      if (!chosen) {
        totals = whole;
        starts = wholeStarts;
      } else {
        const sums = boxes.map(() => 0);
        bins.forEach((bin, index) => {
          const part = Math.max(Math.min(chosen[1] * bins.length, index + 1) - Math.max(chosen[0] * bins.length, index), 0);
          for (let place = 0; part > 0 && place < bin.length; place += 2) sums[bin[place]] += bin[place + 1] * part;
        });
        const own = sums.slice();
        for (let place = sums.length - 1; place >= 0; place--) if (parents[place] >= 0) sums[parents[place]] += sums[place];
        const all = sums.reduce((sum, ns, place) => sum + (parents[place] < 0 ? ns : 0), 0) || 1;
        const next = { root: 0 };
        told = { order, own, totals: sums, all };
        totals = sums.map((ns) => ns / all);
        starts = [];
        sums.forEach((_, place) => {
          const key = parents[place] < 0 ? "root" : parents[place];
          if (next[key] === undefined) next[key] = starts[parents[place]];
          starts.push(next[key]);
          next[key] += totals[place];
        });
      }
      draw();
      found(search.value);
      return told;
    };
  }

  const results = Array.from(document.querySelectorAll("script.result"));
  document.querySelectorAll("article").forEach((article, number) => {
    const flame = flames(article, number);
    if (article.querySelector(".timeline")) timeline(article, number, JSON.parse(results[number].textContent), flame);
  });
  tables();
  scrollers();
})();
