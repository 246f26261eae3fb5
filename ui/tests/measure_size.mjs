// Figures of the page with much to show: a conversation of 510 cards and 100,000 rows of history. Each
// is the duration of an interaction by the browser's own event timing, which a busy machine without a
// screen makes far too long (a frame counts when it is presented), and what the page worked for it ("all
// of it"), which is comparable. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_size.mjs
import fs from "node:fs";
import path from "node:path";

import { Daemon, eventually, launch, signIn } from "./support.mjs";

const RUNS = 15;
const ROUNDS = 34;
/** Until entries of the event timing have come, and the page is at rest. */
const SETTLE_MS = 4_000;
const clients = [];
const ROWS = Number(process.env.ROWS ?? 100_000);
const text = "Some **words** with `code` that a model says beside its call, long enough for two lines in the column of the chat, as answers are.";
// Each call is another one, or the guard against repetition would end the run.
const rounds = Array.from({ length: ROUNDS }, (_, at) => `  - say: "${text}"\n    calls: [{tool: read_file, args: {path: f${at}.txt}}]\n`).join("");
const daemon = await Daemon.start(`version: 1\nturns:\n${`${rounds}  - say: Done.\n`.repeat(RUNS)}`);
for (let at = 0; at < ROUNDS; at++) fs.writeFileSync(path.join(daemon.workspace, `f${at}.txt`), `line ${at}\n`.repeat(20));
const browser = await launch();

/** Durations of the interactions while something is done. */
async function interactions(page, act) {
  await page.evaluate(() => {
    window.timed = [];
    window.watch?.disconnect();
    window.watch = new PerformanceObserver((list) => list.getEntries().forEach((one) => window.timed.push([one.name, one.duration])));
    window.watch.observe({ type: "event", durationThreshold: 16, buffered: false });
  });
  const before = await metrics(page);
  await act();
  await page.waitForTimeout(SETTLE_MS);
  const after = await metrics(page);
  const spent = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].map((name) => `${name.replace("Duration", "").toLowerCase()} ${((after[name] - before[name]) * 1000).toFixed(0)} ms`).join(", ");
  const timed = await page.evaluate(() => window.timed);
  const all = timed.map(([, duration]) => duration).toSorted((a, b) => a - b);
  return all.length ? `slowest ${all.at(-1)} ms, median of those over 16 ms ${all[Math.floor(all.length / 2)]} ms (${all.length}); all of it: ${spent}` : `none over 16 ms; all of it: ${spent}`;
}

/** Seconds that the page has worked, by what. */
async function metrics(page) {
  const client = (clients[0] ??= await page.context().newCDPSession(page));
  await client.send("Performance.enable");
  const { metrics: all } = await client.send("Performance.getMetrics");
  return Object.fromEntries(all.map((one) => [one.name, one.value]));
}

/** The longest time between two frames while something is scrolled. */
async function frames(page, selector) {
  return page.evaluate(async (chosen) => {
    const target = chosen ? document.querySelector(chosen) : document.scrollingElement;
    const gaps = [];
    let last = performance.now();
    const end = target.scrollHeight;
    for (let step = 0; step <= 120; step++) {
      target.scrollTop = (end * step) / 120;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      gaps.push(now - last);
      last = now;
    }
    gaps.sort((a, b) => a - b);
    return `frames while scrolling: median ${gaps[60].toFixed(0)} ms, 95th of 100 ${gaps[114].toFixed(0)} ms, slowest ${gaps.at(-1).toFixed(0)} ms`;
  }, selector);
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signIn(context, daemon);
  let conversation;
  for (let run = 0; run < RUNS; run++) {
    const made = await daemon.api("POST", "/runs", { text: `Question ${run}`, wait: true, limits: { rounds: 100, calls: 200 }, ...(conversation ? { conversation } : {}) });
    conversation = made.conversation;
  }
  const began = Date.now();
  await page.goto(`${daemon.url}/#/chat/${conversation}`);
  await eventually(async () => (await page.locator(".log .card").count()) >= RUNS * ROUNDS, "the cards");
  console.log(`chat: ${RUNS * ROUNDS} cards and ${RUNS * ROUNDS} answers are shown after ${Date.now() - began} ms`);
  await page.waitForTimeout(SETTLE_MS);
  console.log(`chat, typing: ${await interactions(page, () => page.locator("[data-composer]").pressSequentially("a message while all is there", { delay: 200 }))}`);
  console.log(`chat, opening a card: ${await interactions(page, () => page.locator(".log .card .head").nth(250).click())}`);
  console.log(`chat, ${await frames(page)}`);
  const heap = () => page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6));
  console.log(`chat: heap ${await heap()} MB`);

  const one = { tool: "get_current_time", arguments: {} };
  const filled = Date.now();
  for (let sent = 0; sent < ROWS; sent += 1_000) {
    await Promise.all(Array.from({ length: 10 }, () => daemon.api("POST", "/calls/batch", { calls: Array.from({ length: 100 }, () => one) })));
  }
  console.log(`history: ${ROWS} calls made in ${((Date.now() - filled) / 1000).toFixed(0)} s`);
  const opened = Date.now();
  await page.goto(`${daemon.url}/#/history`);
  await page.locator(".hrow").first().waitFor();
  console.log(`history: the first rows are shown after ${Date.now() - opened} ms`);
  console.log(`history, ${await frames(page, ".hlist")}`);
  console.log(`history, typing a filter: ${await interactions(page, () => page.locator(".historyfilters input").first().pressSequentially("get_current", { delay: 200 }))}`);
  console.log(`history: heap ${await heap()} MB`);
} finally {
  await browser.close();
  await daemon.stop();
}
