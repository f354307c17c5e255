"use strict";
// Lays the graph out in layers (longest path, barycentres, least squares), draws it as SVG, and handles the user's input.
const { boxes, edges, blocks } = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const graph = by("graph"), map = by("map"), side = by("side"), search = by("search");
const WIDTH = 232, GAP = 30, THIN = 18, ROOM = 46, LONGEST = 40, MANY = 400;
const KINDS = { contraction: "convolutions and products", reduction: "reductions", elementwise: "element by element",
  movement: "moves of data", other: "others" };

// --- numbers and small helpers

const amount = (value, unit) => {
  const [size, prefix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([s]) => value >= s) || [1, ""];
  const number = value / size;
  return `${number >= 100 || (size === 1 && Number.isInteger(number)) ? number.toFixed(0) : number.toPrecision(3)} ${prefix}${unit}`;
};
const seconds = (us) => us >= 1000 ? `${(us / 1000).toPrecision(3)} ms` : `${us >= 100 ? us.toFixed(0) : us.toPrecision(3)} µs`;
const MEASURES = {
  microseconds: ["time", seconds], flops: ["arithmetic", (v) => amount(v, "FLOP")], bytes: ["memory", (v) => amount(v, "B")],
};
const make = (name, attributes, parent, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const html = (name, parent, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
};
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
const end = (text, most) => text.length > most ? "…" + text.slice(1 - most) : text;
const count = (names) => [...names.reduce((all, n) => all.set(n, (all.get(n) || 0) + 1), new Map())]
  .map(([name, times]) => times > 1 ? `${times} ${name}` : name).join(", ");
const total = (members, key) => members.every((b) => b[key] === undefined) ? undefined
  : members.reduce((sum, b) => sum + (b[key] || 0), 0);

// --- the units shown: boxes, and folded blocks

const blockOf = new Map();
blocks.forEach(([members], number) => members.forEach((i) => blockOf.set(i, number)));
const folded = new Set(boxes.length > MANY ? blocks.keys() : []);

function units() {
  const made = [], of = new Map();
  boxes.forEach((box, i) => {
    const number = blockOf.get(i);
    if (!folded.has(number)) {
      of.set(i, made.length);
      made.push({ box, members: [i], block: number });
    } else {
      const known = made.findIndex((u) => u.folded === number);
      of.set(i, known >= 0 ? known : made.length);
      if (known >= 0) made[known].members.push(i);
      else made.push({ members: [i], folded: number });
    }
  });
  for (const unit of made) if (unit.folded !== undefined) {
    const inside = unit.members.map((i) => boxes[i]);
    const operators = inside.flatMap((b) => b.operators || []), heavy = inside.find((b) => b.kind === "contraction") || inside[0];
    unit.box = { title: blocks[unit.folded][1] || `${inside.length} boxes`, kind: heavy.kind, operators, result: inside.at(-1).result,
      weights: total(inside, "weights"), ...Object.fromEntries(Object.keys(MEASURES).map((k) => [k, total(inside, k)])) };
  }
  return { made, of };
}

// --- layout

function layout() {
  const { made, of } = units();
  const links = new Map(), tags = [];
  for (const [from, to, what, far] of edges) {
    const a = of.get(from), b = of.get(to);
    if (a === b) continue;
    if (far || b - a > 250) tags.push({ a, b, what });
    else links.set(`${a} ${b}`, { a, b, what });
  }
  let kept = [...links.values()];
  rank(made, [...kept, ...tags]);
  kept = kept.filter((link) => made[link.b].rank - made[link.a].rank <= LONGEST || !tags.push(link));
  const rows = layers(made, kept);
  order(rows);
  place(rows);
  return { made, links: kept, tags, of };
}

function rank(made, links) {
  const after = made.map(() => []), before = made.map(() => []);
  for (const { a, b } of links) { after[a].push(b); before[b].push(a); }
  made.forEach((unit, i) => { unit.rank = Math.max(0, ...before[i].map((j) => made[j].rank + 1)); });
  made.forEach((unit, i) => {  // place sources just before their first reader
    if (!before[i].length && after[i].length) unit.rank = Math.max(0, Math.min(...after[i].map((j) => made[j].rank)) - 1);
  });
}

function layers(made, links) {
  const rows = [], row = (r) => rows[r] || (rows[r] = []);
  made.forEach((unit) => { Object.assign(unit, { up: [], down: [], width: WIDTH, height: unit.box.kind === "input" || unit.box.kind === "output" ? 34 : 62 }); row(unit.rank).push(unit); });
  for (const link of links) {
    let last = made[link.a];
    link.path = [];
    for (let r = last.rank + 1; r <= made[link.b].rank; r++) {
      const next = r === made[link.b].rank ? made[link.b] : { rank: r, up: [], down: [], width: THIN, height: 62, thin: true };
      if (next.thin) { row(r).push(next); link.path.push(next); }
      last.down.push(next); next.up.push(last); last = next;
    }
  }
  for (let r = 0; r < rows.length; r++) row(r);
  return rows;
}

function order(rows) {
  const settle = (row) => row.forEach((unit, i) => { unit.at = i; });
  rows.forEach(settle);
  for (let turn = 0; turn < 16; turn++) {
    const key = turn % 2 ? "down" : "up";
    for (const row of turn % 2 ? [...rows].reverse() : rows) {
      for (const unit of row) unit.wish = unit[key].length ? unit[key].reduce((s, n) => s + n.at, 0) / unit[key].length : unit.at;
      row.sort((p, q) => p.wish - q.wish || p.at - q.at);
      settle(row);
    }
  }
}

function place(rows) {
  for (const row of rows) {
    let x = 0;
    for (const unit of row) { unit.x = x + unit.width / 2; x += unit.width + GAP; }
    for (const unit of row) unit.x -= (x - GAP) / 2;
  }
  for (let turn = 0; turn < 24; turn++) {
    const key = turn % 2 ? "down" : "up";
    for (const row of turn % 2 ? [...rows].reverse() : rows) {
      if (row.length === 1) { row[0].x = 0; continue; }  // all values pass through this box: centre it
      for (const unit of row) {
        const near = turn < 20 ? unit[key] : [...unit.up, ...unit.down];
        unit.wish = near.length ? near.reduce((s, n) => s + n.x, 0) / near.length : unit.x;
      }
      fit(row);
    }
  }
  let y = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((u) => u.thin ? 0 : u.height), 30);
    for (const unit of row) unit.y = y + (unit.thin ? 0 : (height - unit.height) / 2);
    for (const unit of row) if (unit.thin) unit.height = height;
    y += height + ROOM;
  }
}

// Positions nearest to the wished ones, by least squares, that keep order and gaps: pool adjacent violators.
function fit(row) {
  const pools = [];
  let offset = 0;
  row.forEach((unit, i) => {
    if (i) offset += (row[i - 1].width + unit.width) / 2 + GAP;
    const weight = unit.thin ? 1 : 2;
    let pool = { weight, sum: weight * (unit.wish - offset), units: [[unit, offset]] };
    while (pools.length && pools.at(-1).sum / pools.at(-1).weight > pool.sum / pool.weight) {
      const left = pools.pop();
      pool = { weight: left.weight + pool.weight, sum: left.sum + pool.sum, units: [...left.units, ...pool.units] };
    }
    pools.push(pool);
  });
  for (const pool of pools) for (const [unit, at] of pool.units) unit.x = pool.sum / pool.weight + at;
}

// --- drawing

let now, root, chosen = null, colour = "kind";
const view = { k: 1, x: 0, y: 0 };

function draw() {
  now = layout();
  graph.replaceChildren();
  const defs = make("defs", {}, graph);
  make("path", { d: "M0 0L7 3.5L0 7z", class: "arrow" }, make("marker", { id: "arrow", viewBox: "0 0 7 7", refX: 6, refY: 3.5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, defs));
  root = make("g", {}, graph);
  frames();
  now.links.forEach(drawEdge);
  now.made.forEach(drawBox);
  drawTags();
  const shown = now.made, xs = shown.map((u) => u.x), ys = shown.map((u) => u.y + u.height);
  now.area = { left: Math.min(...xs) - WIDTH / 2 - 30, right: Math.max(...xs) + WIDTH / 2 + 160, top: -30, bottom: Math.max(...ys) + 40 };
  drawMap();
  mark();
  move();
}

function frames() {
  const groups = new Map();
  for (const unit of now.made) if (unit.block !== undefined) groups.set(unit.block, [...(groups.get(unit.block) || []), unit]);
  for (const [number, members] of groups) {
    const left = Math.min(...members.map((u) => u.x)) - WIDTH / 2 - 14, right = Math.max(...members.map((u) => u.x)) + WIDTH / 2 + 14;
    const top = Math.min(...members.map((u) => u.y)) - 24, bottom = Math.max(...members.map((u) => u.y + u.height)) + 21;
    make("rect", { class: "block", x: left, y: top, width: right - left, height: bottom - top, rx: 12 }, root);
    const handle = make("g", { class: "handle", role: "button", transform: `translate(${left + 10} ${top + 15})` }, root);
    make("text", {}, handle, `− ${cut(blocks[number][1] || "block", 40)}`);
    make("title", {}, handle, "fold this block into one box");
    handle.addEventListener("click", () => toggle(number));
  }
}

function drawEdge(link) {
  const a = now.made[link.a], b = now.made[link.b];
  let d = `M${a.x} ${a.y + a.height}`, x = a.x, y = a.y + a.height;
  const to = (u, v) => { const half = (v - y) / 2; d += `C${x} ${y + half} ${u} ${v - half} ${u} ${v}`; x = u; y = v; };
  for (const thin of link.path) { to(thin.x, thin.y); d += `V${thin.y + thin.height}`; y = thin.y + thin.height; }
  to(b.x, b.y);
  link.element = make("path", { class: "edge", d, "marker-end": "url(#arrow)" }, root);
  make("title", {}, link.element, link.what);
}

function drawBox(unit, number) {
  const { box } = unit, plain = box.kind === "input" || box.kind === "output";
  const g = make("g", { class: "box", transform: `translate(${unit.x - WIDTH / 2} ${unit.y})` }, root);
  unit.element = g;
  make("rect", { width: WIDTH, height: unit.height, rx: plain ? 17 : 8 }, g);
  if (unit.folded !== undefined) make("rect", { x: 4, y: 4, width: WIDTH, height: unit.height, rx: 8, fill: "none", stroke: "var(--line)" }, g);
  if (!plain) unit.strip = make("path", { d: `M6 1H8A7 7 0 0 0 1 8V${unit.height - 8}A7 7 0 0 0 8 ${unit.height - 1}H6z`, "pointer-events": "none" }, g);
  unit.tint = make("rect", { x: 1, y: 1, width: WIDTH - 2, height: unit.height - 2, rx: plain ? 16 : 7, "pointer-events": "none" }, g);
  if (plain) {
    make("text", { class: "title", x: WIDTH / 2, y: 22, "text-anchor": "middle" }, g, cut(box.title, 28));
  } else {
    make("text", { class: "title", x: 14, y: 20 }, g, (unit.folded === undefined ? "" : "+ ") + cut(box.title, 27));
    make("text", { class: "more", x: 14, y: 36 }, g, unit.folded === undefined ? end(box.node || "", 38) : cut(count(box.operators), 38));
    const numbers = Object.entries(MEASURES).filter(([k]) => box[k] !== undefined).map(([k, [, show]]) => show(box[k]));
    make("text", { class: "numbers", x: 14, y: 53 }, g, numbers.join("  ·  "));
  }
  if (box.result && box.kind !== "output") make("text", { class: "shape", x: WIDTH / 2 + 9, y: unit.height + 15 }, g, cut(box.result, 34));
  make("title", {}, g, [box.label || box.title, ...(box.nodes || [])].slice(0, 12).join("\n"));
  g.addEventListener("click", () => { if (!dragged) unit.folded === undefined ? choose(number) : toggle(unit.folded); });
}

// An edge to a distant reader is not drawn as a line; the value is named above the box that reads it.
function drawTags() {
  const above = new Map();
  for (const { a, b, what } of now.tags) above.set(b, [...(above.get(b) || []), { a, what }]);
  for (const [b, list] of above) list.slice(0, 3).forEach(({ a, what }, i) => {
    const unit = now.made[b], width = 96;
    const g = make("g", { class: "tag", transform: `translate(${unit.x + WIDTH / 2 - 6 - (i + 1) * (width + 4)} ${unit.y - 19})` }, root);
    make("rect", { width, height: 15, rx: 7.5 }, g);
    make("text", { x: width / 2, y: 11.2, "text-anchor": "middle" }, g, cut(`↑ ${now.made[a].box.title}`, 17));
    make("title", {}, g, `${now.made[a].box.title}: ${what}`);
    g.addEventListener("click", () => { choose(a); centre(now.made[a]); });
  });
}

function paint() {
  const largest = colour === "kind" ? 1 : Math.max(...now.made.map((u) => u.box[colour] || 0), 1e-12);
  for (const unit of now.made) {
    const share = (unit.box[colour] || 0) / largest;
    unit.tint.setAttribute("fill", colour === "kind" ? `var(--${unit.box.kind})` : "var(--hot)");
    unit.tint.setAttribute("fill-opacity", colour === "kind" ? 0.18 : 0.04 + 0.6 * Math.sqrt(share));
    if (unit.strip) unit.strip.setAttribute("fill", `var(--${unit.box.kind})`);
    unit.dot.setAttribute("fill", unit.tint.getAttribute("fill"));
    unit.dot.setAttribute("fill-opacity", colour === "kind" ? 0.8 : 0.1 + 0.9 * Math.sqrt(share));
  }
}

function drawMap() {
  const { left, right, top, bottom } = now.area;
  map.replaceChildren();
  map.setAttribute("viewBox", `${left} ${top} ${right - left} ${bottom - top}`);
  map.setAttribute("preserveAspectRatio", bottom - top > 6 * (right - left) ? "none" : "xMidYMid meet");
  for (const unit of now.made) unit.dot = make("rect", { x: unit.x - WIDTH / 2, y: unit.y, width: WIDTH, height: unit.height }, map);
  now.window = make("rect", { class: "view", "vector-effect": "non-scaling-stroke" }, map);
}

function move() {
  root.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
  const { width, height } = graph.getBoundingClientRect();
  for (const [name, value] of Object.entries({ x: -view.x / view.k, y: -view.y / view.k, width: width / view.k, height: height / view.k })) now.window.setAttribute(name, value);
}

// --- navigation

function zoom(factor, x, y) {
  const { width, height } = graph.getBoundingClientRect();
  const k = Math.min(Math.max(view.k * factor, 0.02), 3), u = x ?? width / 2, v = y ?? height / 2;
  view.x = u - (u - view.x) * k / view.k;
  view.y = v - (v - view.y) * k / view.k;
  view.k = k;
  move();
}

// Fit the whole graph, or if it is long and thin, show its beginning at a readable size.
function home(all) {
  const { width, height } = graph.getBoundingClientRect(), { left, right, top, bottom } = now.area;
  const whole = Math.min(width / (right - left), height / (bottom - top), 1.2);
  view.k = all ? whole : Math.max(whole, Math.min(width / (right - left), 0.85));
  view.x = width / 2 - view.k * (left + right) / 2;
  view.y = whole >= view.k ? height / 2 - view.k * (top + bottom) / 2 : -view.k * top;
  move();
}

function centre(unit) {
  const { width, height } = graph.getBoundingClientRect();
  view.k = Math.max(view.k, 0.7);
  view.x = width / 2 - view.k * unit.x;
  view.y = height / 2 - view.k * (unit.y + unit.height / 2);
  move();
}

function toggle(number) {
  const first = blocks[number][0][0], before = now.made[now.of.get(first)], x = before.x, y = before.y;
  folded.has(number) ? folded.delete(number) : folded.add(number);
  chosen = null;
  draw();
  const after = now.made[now.of.get(first)];
  view.x += view.k * (x - after.x);
  view.y += view.k * (y - after.y);
  move();
  overview();
  foldButton();
}

let dragged = false, held = null;
graph.addEventListener("pointerdown", (e) => { held = { x: e.clientX, y: e.clientY }; dragged = false; });
window.addEventListener("pointermove", (e) => {
  if (!held) return;
  const dx = e.clientX - held.x, dy = e.clientY - held.y;
  if (!dragged && Math.hypot(dx, dy) < 4) return;
  dragged = true;
  graph.classList.add("drag");
  view.x += dx; view.y += dy;
  held = { x: e.clientX, y: e.clientY };
  move();
});
window.addEventListener("pointerup", () => { held = null; graph.classList.remove("drag"); });
graph.addEventListener("click", (e) => { if (e.target === graph && !dragged) choose(null); });
graph.addEventListener("wheel", (e) => {
  e.preventDefault();
  const at = graph.getBoundingClientRect();
  if (e.shiftKey) { view.x -= e.deltaY || e.deltaX; move(); } else zoom(Math.exp(-e.deltaY * 0.0016), e.clientX - at.left, e.clientY - at.top);
}, { passive: false });
graph.addEventListener("keydown", (e) => {
  const step = { ArrowUp: [0, 80], ArrowDown: [0, -80], ArrowLeft: [80, 0], ArrowRight: [-80, 0] }[e.key];
  if (step) { view.x += step[0]; view.y += step[1]; move(); e.preventDefault(); }
  if (e.key === "+" || e.key === "=") zoom(1.25);
  if (e.key === "-") zoom(0.8);
  if (e.key === "0") home(true);
  if (e.key === "Escape") choose(null);
});
const go = (e) => {
  const point = new DOMPoint(e.clientX, e.clientY).matrixTransform(map.getScreenCTM().inverse()), { width, height } = graph.getBoundingClientRect();
  view.x = width / 2 - view.k * Math.min(Math.max(point.x, now.area.left), now.area.right);
  view.y = height / 2 - view.k * point.y;
  move();
};
map.addEventListener("pointerdown", (e) => { map.setPointerCapture(e.pointerId); go(e); });
map.addEventListener("pointermove", (e) => { if (e.buttons) go(e); });
by("in").addEventListener("click", () => zoom(1.25));
by("out").addEventListener("click", () => zoom(0.8));
by("fit").addEventListener("click", () => home(true));

// --- search, selection and the side panel

const matches = (box, words) => words.every((w) => [box.title, ...(box.operators || []), ...(box.nodes || []), box.result || ""].some((t) => t.toLowerCase().includes(w)));
let hits = [], hit = -1;
search.addEventListener("input", () => { hit = -1; mark(); });
search.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { search.value = ""; mark(); }
  if (e.key !== "Enter" || !hits.length) return;
  hit = (hit + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
  const unit = now.made[hits[hit]];
  if (unit.folded === undefined) choose(hits[hit]);
  centre(unit);
  by("found").textContent = `${hit + 1} of ${hits.length}`;
});

function mark() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (unit) => unit.members.some((i) => matches(boxes[i], words));
  hits = words.length ? now.made.flatMap((unit, i) => found(unit) ? [i] : []) : [];
  by("found").textContent = words.length ? `${hits.length} found` : "";
  const near = new Set();
  for (const link of now.links) {
    const on = chosen !== null && (link.a === chosen || link.b === chosen);
    if (on) { near.add(link.a); near.add(link.b); }
    link.element.classList.toggle("near", on);
    link.element.classList.toggle("dim", words.length > 0);
  }
  now.made.forEach((unit, i) => {
    unit.element.classList.toggle("dim", words.length > 0 && !hits.includes(i));
    unit.element.classList.toggle("chosen", i === chosen);
    unit.element.classList.toggle("near", near.has(i) && i !== chosen);
  });
  paint();
}

function choose(number) {
  chosen = number;
  mark();
  number === null ? overview() : detail(now.made[number]);
}

function row(list, name, value) { html("dt", list, name); html("dd", list, value); }

function detail({ box, members }) {
  side.replaceChildren();
  const head = html("h2", side);
  html("span", head, "", "key").style.background = `var(--${box.kind})`;
  head.append(box.label || box.title);
  const list = html("dl", side);
  if (box.result) row(list, box.kind === "input" || box.kind === "output" ? "type" : "result", box.result);
  for (const [key, [name, show]] of Object.entries(MEASURES)) if (box[key] !== undefined) row(list, name, show(box[key]));
  if (box.weights) row(list, "constants", amount(box.weights, "B"));
  if (box.flops && box.bytes) row(list, "arithmetic per byte", (box.flops / box.bytes).toPrecision(3));
  if (box.flops && box.microseconds) row(list, "rate", amount(box.flops / box.microseconds * 1e6, "FLOP/s"));
  if (box.bytes && box.microseconds) row(list, "memory rate", amount(box.bytes / box.microseconds * 1e6, "B/s"));
  links("reads", edges.filter(([, to]) => members.includes(to)).map(([from, , what]) => [from, what]));
  links("read by", edges.filter(([from]) => members.includes(from)).map(([, to, what]) => [to, what]));
  if ((box.nodes || []).length) {
    html("h3", side, box.nodes.length > 1 ? `From ${box.nodes.length} nodes of the model` : "From the model's node");
    const names = html("ol", side);
    for (const name of box.nodes) html("li", names, name);
  }
  if (box.text) { html("h3", side, "As Relay text"); html("pre", side, box.text); }
}

function links(title, list) {
  if (!list.length) return;
  html("h3", side, title);
  const made = html("ol", side);
  for (const [i, what] of list) entry(made, i, what);
}

function entry(list, i, value) {
  const button = html("button", html("li", list));
  button.type = "button";
  html("span", button, boxes[i].label || boxes[i].title);
  html("span", button, value);
  button.title = button.textContent;
  button.addEventListener("click", () => {
    if (folded.has(blockOf.get(i))) toggle(blockOf.get(i));
    choose(now.of.get(i));
    centre(now.made[now.of.get(i)]);
  });
}

function overview() {
  side.replaceChildren();
  const inner = boxes.map((box, i) => [box, i]).filter(([b]) => b.kind !== "input" && b.kind !== "output");
  html("h2", side, "By kind");
  const measure = Object.keys(MEASURES).find((k) => inner.some(([b]) => b[k]));
  const list = html("dl", side);
  for (const kind in KINDS) {
    const of = inner.filter(([b]) => b.kind === kind).map(([b]) => b);
    if (!of.length) continue;
    const name = html("dt", list);
    html("span", name, "", "key").style.background = `var(--${kind})`;
    name.append(`${of.length} ${KINDS[kind]}`);
    html("dd", list, measure && total(of, measure) !== undefined ? MEASURES[measure][1](total(of, measure)) : "");
  }
  for (const [key, [name, show]] of Object.entries(MEASURES)) {
    const top = inner.filter(([b]) => b[key]).sort(([p], [q]) => q[key] - p[key]).slice(0, 8);
    if (!top.length) continue;
    html("h3", side, `Most ${name}`);
    const rows = html("ol", side);
    for (const [box, i] of top) entry(rows, i, show(box[key]));
  }
  if (!measure) html("p", side, "Sizes are open: --dims NAME=N counts bytes and arithmetic.");
}

function foldButton() {
  by("fold").hidden = !blocks.length;
  by("fold").textContent = folded.size ? "Unfold all" : `Fold ${blocks.length} blocks`;
}
by("fold").addEventListener("click", () => {
  const all = [...blocks.keys()];
  folded.size ? folded.clear() : all.forEach((b) => folded.add(b));
  chosen = null;
  draw(); home(false); overview(); foldButton();
});

const choices = [["kind", "Colour: kind"], ...Object.entries(MEASURES).filter(([k]) => boxes.some((b) => b[k])).map(([k, [name]]) => [k, `Colour: ${name}`])];
for (const [value, name] of choices) html("option", by("colour"), name).value = value;
by("colour").addEventListener("change", (e) => { colour = e.target.value; paint(); });
if (choices.some(([k]) => k === "microseconds")) by("colour").value = colour = "microseconds";
draw(); home(false); overview(); foldButton();
// In a frame, such as a notebook's, the script runs before the frame has a size.
let sized = graph.getBoundingClientRect().width > 0;
new ResizeObserver(() => {
  if (sized) move();
  else if (graph.getBoundingClientRect().width > 0) { sized = true; home(false); }
}).observe(graph);
