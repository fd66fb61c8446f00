// Drives headless Chromium over its debugging pipe: no packages. Usage: node test-report.mjs REPORTS SCREENSHOTS
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [reports, shots] = process.argv.slice(2).map(path => resolve(path));
const profile = mkdtempSync(join(tmpdir(), "fabsim-chromium-"));
const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`];
const chromium = spawn(process.env.CHROMIUM || "chromium", flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
let number = 0, rest = "";
const waiting = new Map(), listeners = new Set();
chromium.stdio[4].on("data", chunk => {
  rest += chunk;
  const parts = rest.split("\0");
  rest = parts.pop();
  for (const message of parts.map(part => JSON.parse(part))) {
    if (message.id) {
      const { done, fail } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) fail(new Error(message.error.message)); else done(message.result);
    } else listeners.forEach(listen => listen(message));
  }
});
const send = (method, params = {}, sessionId) => new Promise((done, fail) => {
  waiting.set(++number, { done, fail });
  chromium.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + "\0");
});
const sleep = ms => new Promise(done => setTimeout(done, ms));

let passed = 0, failed = 0;
function check(name, holds, said = "") {
  if (holds) passed++; else failed++;
  console.log(`${holds ? "ok  " : "FAIL"} ${name}${said === "" ? "" : `: ${said}`}`);
}

async function page(name) {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  const outside = [], errors = [];
  let loaded;
  const load = new Promise(done => { loaded = done; });
  listeners.add(message => {
    if (message.sessionId !== sessionId) return;
    if (message.method === "Network.requestWillBeSent" && !/^(file|data|blob):/.test(message.params.request.url)) outside.push(message.params.request.url);
    if (message.method === "Runtime.exceptionThrown") errors.push(message.params.exceptionDetails.exception?.description || message.params.exceptionDetails.text);
    if (message.method === "Page.loadEventFired") loaded();
  });
  for (const domain of ["Page", "Network", "Runtime"]) await call(`${domain}.enable`);
  await call("Emulation.setDeviceMetricsOverride", { width: 1200, height: 900, deviceScaleFactor: 1, mobile: false });
  const begun = Date.now();
  await call("Page.navigate", { url: `file://${join(reports, name, "report.html")}` });
  await load;
  // Until a frame with everything in it is drawn.
  await call("Runtime.evaluate", { expression: "new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))", awaitPromise: true });
  const took = Date.now() - begun;
  const run = async expression => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  };
  const shot = async (file, whole) => {
    const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    writeFileSync(join(shots, file), Buffer.from(data, "base64"));
  };
  const point = async selector => {
    const place = await run(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({ block: "center" });
      const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`);
    await sleep(100);
    await call("Input.dispatchMouseEvent", { type: "mouseMoved", x: place[0], y: place[1] });
    await sleep(100);
    return run(`(t => t.hidden ? "" : t.textContent)(document.getElementById("tip"))`);
  };
  return { name, call, run, shot, point, outside, errors, took, size: statSync(join(reports, name, "report.html")).size };
}

async function common(p) {
  check(`${p.name} is under 5 MB`, p.size < 5e6, `${(p.size / 1e3).toFixed(0)} KB`);
  check(`${p.name} is drawn within 2 s`, p.took < 2000, `${p.took} ms`);
  const scheme = value => p.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  const back = () => p.run(`getComputedStyle(document.body).backgroundColor`);
  await scheme("light");
  const light = await back();
  await p.shot(`${p.name}-light.png`);
  await scheme("dark");
  const dark = await back();
  await p.shot(`${p.name}-dark.png`);
  check(`${p.name} follows prefers-color-scheme`, light !== dark, `${light}, ${dark}`);
  await scheme("light");
  await p.run(`document.getElementById("theme").click()`);
  check(`${p.name} has a toggle to dark`, await back() === dark, await p.run(`document.getElementById("theme").textContent`));
  await p.run(`document.getElementById("theme").click()`);
  await scheme("dark");
  check(`${p.name} has a toggle to light`, await back() === light);
  await p.run(`document.getElementById("theme").click()`);
  await scheme("light");
  await p.run(`new Promise(d => { document.querySelector("details.data").open = true; setTimeout(d, 200); })`);
  const sorted = await p.run(`(() => { const t = [...document.querySelectorAll("table")].find(t => t.tBodies[0].rows.length > 1);
    if (!t) return "no table"; const c = [...t.tHead.rows[0].cells].findIndex(h => h.className === "n");
    const read = () => [...t.tBodies[0].rows].map(r => r.cells[c].textContent).filter(v => v !== "").map(Number);
    const up = v => v.every((x, i) => !i || v[i - 1] <= x), down = v => v.every((x, i) => !i || v[i - 1] >= x);
    t.tHead.rows[0].cells[c].click(); const a = up(read()); t.tHead.rows[0].cells[c].click(); return a && down(read()); })()`);
  check(`${p.name} sorts its tables both ways`, sorted === true, String(sorted));
  const data = await p.run(`(() => { const d = document.querySelector("details.data"); return new Promise(done => setTimeout(() => {
    const a = d.querySelector("a[download]"); done([d.querySelectorAll("tbody tr").length, a && a.href.slice(0, 9)]); d.open = false; }, 200)); })()`);
  check(`${p.name} shows the data of a chart`, data[0] > 0 && /^(data:text|blob:null|blob:file)/.test(data[1]), data.join(" "));
  const units = await p.run(`[...document.querySelectorAll("svg[data-plot]")].every(s => JSON.parse(s.dataset.plot).every(a => a[5] !== ""))`);
  check(`${p.name} names its axes`, units);
  await p.call("Emulation.setDeviceMetricsOverride", { width: 390, height: 844, deviceScaleFactor: 2, mobile: true });
  await sleep(200);
  const wide = await p.run(`document.documentElement.scrollWidth`);
  check(`${p.name} fits a phone`, wide <= 391, `${wide} px wide`);
  await p.run(`scrollTo(0, 0)`);
  await p.shot(`${p.name}-phone.png`);
  await p.call("Emulation.setDeviceMetricsOverride", { width: 1200, height: 900, deviceScaleFactor: 1, mobile: false });
  await p.call("Emulation.setEmulatedMedia", { media: "print" });
  check(`${p.name} prints without its buttons`, await p.run(`getComputedStyle(document.getElementById("theme")).display`) === "none");
  await p.call("Emulation.setEmulatedMedia", { media: "" });
}

try {
  const deadlock = await page("pfc-deadlock-cbd");
  await common(deadlock);
  const arrow = await deadlock.point("#fig-deadlock .hit");
  check("the deadlock's arrows tell who waits", /stuck at/.test(arrow), arrow.replaceAll("\n", " | "));
  await deadlock.run(`document.getElementById("deadlock").scrollIntoView()`);
  await deadlock.shot("deadlock-cycle.png");
  const bench = await page("bench-permutation-1024");
  await common(bench);
  const cell = await bench.point("#fig-load rect.l3");
  check("a cell of the load map tells its port", /→ .*%/.test(cell), cell);
  const incast = await page("incast");
  await common(incast);
  const line = await incast.point("#fig-queues svg .frame");
  check("a line chart tells its values", /^time .*\n.*(MB|KB)/.test(line), line.replaceAll("\n", " | "));
  await incast.shot("incast-queues.png");
  const bar = await incast.point("#fig-pauses rect.fill");
  check("a pause tells who paused whom", /pauses/.test(bar), bar.replaceAll("\n", " | "));
  await incast.shot("incast-pauses.png");
  const collective = await page("allreduce-ring-8");
  await common(collective);
  const step = await collective.point("#fig-collectives rect.fill[data-t]");
  check("a step tells its rank and time", /GPU/.test(step), step.replaceAll("\n", " | "));
  const sweep = await page("sweep");
  await common(sweep);
  const heat = await sweep.point("#fig-heat-0 rect.cell");
  check("a cell of the heat map tells its setting", /kmin|kmax/.test(heat), heat.replaceAll("\n", " | "));
  await sweep.shot("sweep-heat.png");
  for (const p of [deadlock, bench, incast, collective, sweep]) {
    check(`${p.name} asks nothing of the network`, p.outside.length === 0, p.outside.join(" "));
    check(`${p.name} runs without errors`, p.errors.length === 0, p.errors.join(" "));
  }
} catch (error) {
  check("the browser does what it is told", false, error.stack);
} finally {
  await Promise.race([send("Browser.close").catch(() => {}), sleep(3000)]);
  chromium.kill();
  await sleep(300);
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${failed} failed; screenshots in ${shots}`);
process.exit(failed ? 1 : 0);
