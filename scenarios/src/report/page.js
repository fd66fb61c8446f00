"use strict";
(() => {
const $ = (s, e) => (e || document).querySelector(s), $$ = (s, e) => [...(e || document).querySelectorAll(s)];
/* Light and dark. */
const root = document.documentElement, button = $("#theme");
const store = { get() { try { return localStorage.getItem("fabsim-theme"); } catch { return null; } },
  set(v) { try { v ? localStorage.setItem("fabsim-theme", v) : localStorage.removeItem("fabsim-theme"); } catch { /* not kept */ } } };
function theme(v) { if (v) root.dataset.theme = v; else delete root.dataset.theme; button.textContent = "Theme: " + (v || "auto"); store.set(v); }
theme(store.get());
button.onclick = () => theme({ undefined: "dark", dark: "light", light: null }[root.dataset.theme]);
/* What is under the pointer. */
const tip = $("#tip");
function show(text, x, y) {
  tip.textContent = text; tip.hidden = false;
  const b = tip.getBoundingClientRect(), w = innerWidth, h = innerHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, w - b.width - 4)) + "px";
  tip.style.top = (y + 18 + b.height > h ? Math.max(4, y - b.height - 12) : y + 18) + "px";
}
const hide = () => { tip.hidden = true; $$(".cross").forEach(e => e.remove()); };
$$("svg title").forEach(t => { t.parentNode.dataset.t = t.textContent; t.remove(); });
const fig = v => { const a = Math.abs(v); if (!isFinite(v)) return "–"; if (a >= 1e6) return Math.round(v).toLocaleString("en").replaceAll(",", "\u202f"); return String(+v.toPrecision(5)); };
const axis = a => { const [p0, p1, v0, v1, log] = a; return {
  value: p => { const f = (p - p0) / (p1 - p0); return log ? v0 * Math.pow(v1 / v0, f) : v0 + f * (v1 - v0); }, name: a[5], unit: a[6] }; };
const lines = svg => svg._lines || (svg._lines = $$("path.line[data-n]", svg).reverse().map(p => ({ name: p.dataset.n,
  pts: p.getAttribute("d").slice(1).split("L").map(q => q.split(" ").map(Number)) })));
function nearest(pts, x) {
  let lo = 0, hi = pts.length - 1;
  while (hi - lo > 1) { const m = (lo + hi) >> 1; if (pts[m][0] <= x) lo = m; else hi = m; }
  return Math.abs(pts[lo][0] - x) <= Math.abs(pts[hi][0] - x) ? pts[lo] : pts[hi];
}
function cross(svg, x, a) {
  $$(".cross", svg).forEach(e => e.remove());
  const l = document.createElementNS("http://www.w3.org/2000/svg", "line");
  l.setAttribute("class", "cross"); l.setAttribute("x1", x); l.setAttribute("x2", x); l.setAttribute("y1", a[1][0]); l.setAttribute("y2", a[1][1]);
  svg.appendChild(l);
}
function plotted(svg, e) {
  const m = svg.getScreenCTM(); if (!m) return hide();
  const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(m.inverse()), a = JSON.parse(svg.dataset.plot);
  if (p.x < a[0][0] - 4 || p.x > a[0][1] + 4 || p.y < a[1][1] - 4 || p.y > a[1][0] + 4) return hide();
  const X = axis(a[0]), Y = axis(a[1]), near = lines(svg).filter(l => l.pts.length && p.x >= l.pts[0][0] - 6 && p.x <= l.pts.at(-1)[0] + 6)
    .map(l => ({ name: l.name, at: nearest(l.pts, p.x) }));
  if (!near.length) return hide();
  const best = near.reduce((b, n) => Math.abs(n.at[0] - p.x) < Math.abs(b.at[0] - p.x) ? n : b);
  cross(svg, best.at[0], a);
  show([`${X.name} ${fig(X.value(best.at[0]))} ${X.unit}`, ...near.map(n => `${n.name}: ${fig(Y.value(n.at[1]))} ${Y.unit}`)].join("\n"), e.clientX, e.clientY);
}
document.addEventListener("pointermove", e => {
  const t = e.target.closest && e.target.closest("[data-t]"), s = e.target.closest && e.target.closest("svg[data-plot]");
  if (t) { show(t.dataset.t, e.clientX, e.clientY); $$(".cross").forEach(c => c.remove()); } else if (s) plotted(s, e); else hide();
});
document.addEventListener("pointerleave", hide); addEventListener("scroll", hide, { passive: true });
document.addEventListener("pointerdown", e => { if (e.pointerType !== "mouse") e.target.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: e.clientX, clientY: e.clientY })); });
/* Tables, made of the CSV in the page. */
function csv(text) {
  const rows = []; let row = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) { if (c === '"') { if (text[i + 1] === '"') { cell += c; i++; } else quoted = false; } else cell += c; }
    else if (c === '"') quoted = true;
    else if (c === ",") { row.push(cell); cell = ""; }
    else if (c === "\n") { row.push(cell); rows.push(row); row = []; cell = ""; }
    else if (c !== "\r") cell += c;
  }
  if (cell || row.length) { row.push(cell); rows.push(row); }
  return rows;
}
const FIRST = 100;
function table(div) {
  if (div._done) return; div._done = true;
  const source = document.getElementById(div.dataset.csv), text = source.textContent.replaceAll("<\\/", "</").replaceAll("<\\!--", "<!--");
  const [head, ...rows] = csv(text), numeric = head.map((_, c) => rows.some(r => r[c] !== "") && rows.every(r => r[c] === "" || !isNaN(r[c])));
  let shown = FIRST, order = null;
  const t = document.createElement("table"), thead = t.createTHead().insertRow(), body = t.createTBody();
  const mark = head.indexOf("recommended");
  head.forEach((h, c) => {
    const th = document.createElement("th"); th.textContent = h; if (numeric[c]) th.className = "n"; th.tabIndex = 0; th.scope = "col";
    th.onclick = () => {
      const up = !(order && order.c === c && order.up); order = { c, up };
      rows.sort((a, b) => { const x = a[c], y = b[c]; if (x === y) return 0; if (x === "") return 1; if (y === "") return -1;
        const d = numeric[c] ? x - y : x.localeCompare(y, "en", { numeric: true }); return up ? d : -d; });
      $$("th", t).forEach(o => o.removeAttribute("aria-sort")); th.setAttribute("aria-sort", up ? "ascending" : "descending"); fill();
    };
    th.onkeydown = e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); th.onclick(); } };
    thead.appendChild(th);
  });
  const tools = document.createElement("div"), more = document.createElement("button"), load = document.createElement("a");
  tools.className = "tools"; load.textContent = "Download CSV"; load.download = source.dataset.file;
  load.href = text.length < 60000 ? "data:text/csv;charset=utf-8," + encodeURIComponent(text) : URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  more.type = "button"; more.onclick = () => { shown = rows.length; fill(); };
  function fill() {
    body.textContent = "";
    for (const r of rows.slice(0, shown)) {
      const tr = body.insertRow(); if (mark >= 0 && r[mark] === "true") tr.className = "hl";
      r.forEach((v, c) => { const td = tr.insertCell(); td.textContent = v; td.className = numeric[c] ? "n" : v.length > 60 ? "long" : ""; });
    }
    more.textContent = `Show all ${rows.length} rows`; more.hidden = rows.length <= shown;
  }
  fill(); div.appendChild(t); tools.append(load, more); div.after(tools);
}
$$(".table[data-open]").forEach(table);
$$("details.data").forEach(d => d.addEventListener("toggle", () => { if (d.open) table($(".table", d)); }));
})();
