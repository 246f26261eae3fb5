// What a key, a new line, a turn of the wheel and an opened card cost with 2,000 messages and 510 cards,
// without the hour that a daemon needs to make them: one run with cards and one without are made, and the
// page gets copies of them. With LAST=1, a run with cards is the last one, which is laid out in full.
// Each duration is the browser's own (event timing, of interactions of 16 ms and more, and frames), and
// beside it what the page worked, in time of a processor, which a busy machine does not change. A key
// that is held for 60 ms shows that events are timed at all. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_typing.mjs
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { Daemon, eventually, launchMeasured, signIn } from "./support.mjs";

const ROUNDS = 34;
const RUNS = Number(process.env.RUNS ?? 15);
const TALKS = Number(process.env.TALKS ?? 730);
const SETTLE_MS = 1_500;
const TURNS = 40;
const KEYS = "a message while all is there";
const text = "Some **words** with `code` that a model says beside its call, long enough for two lines in the column of the chat, as answers are.";
const rounds = Array.from({ length: ROUNDS }, (_, at) => `  - say: "${text}"\n    calls: [{tool: read_file, args: {path: f${at}.txt}}]\n`).join("");
const daemon = await Daemon.start(`version: 1\nturns:\n${rounds}  - say: Done.\n  - say: "${text}"\n`);
for (let at = 0; at < ROUNDS; at++) fs.writeFileSync(path.join(daemon.workspace, `f${at}.txt`), `line ${at}\n`.repeat(20));
const { browser, context } = await launchMeasured();
const page = await signIn(context, daemon);
const client = await context.newCDPSession(page);

/** Seconds that the page has worked, by what. */
async function metrics() {
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const { metrics: all } = await client.send("Performance.getMetrics");
  return Object.fromEntries(all.map((one) => [one.name, one.value]));
}

async function interactions(name, count, act, counted = false) {
  await page.evaluate((ticks) => {
    window.timed = [];
    window.watch?.disconnect();
    window.watch = new PerformanceObserver((list) => list.getEntries().forEach((one) => one.interactionId && window.timed.push(one.duration)));
    window.watch.observe({ type: "event", durationThreshold: 16 });
    // Frames, as long as something is done; to ask for each of them is work of its own.
    window.between = [];
    const mine = (window.ticking = {});
    let before = performance.now();
    const tick = (now) => {
      if (window.ticking !== mine) return;
      window.between.push(now - before);
      before = now;
      requestAnimationFrame(tick);
    };
    if (ticks) requestAnimationFrame(tick);
  }, counted);
  const before = await metrics();
  await act();
  await page.evaluate(() => (window.ticking = null));
  await page.waitForTimeout(SETTLE_MS);
  const after = await metrics();
  const each = (metric) => `${(((after[metric] - before[metric]) * 1000) / count).toFixed(1)}`;
  const sorted = (all) => all.toSorted((a, b) => a - b);
  const timed = sorted(await page.evaluate(() => window.timed));
  const frames = sorted(await page.evaluate(() => window.between));
  const events = timed.length ? `median ${timed[Math.floor(timed.length / 2)]} ms, longest ${timed.at(-1)} ms of ${timed.length}` : "none of 16 ms";
  const slow = counted ? `${frames.filter((one) => one > 50).length} of ${frames.length} frames over 50 ms, longest ${frames.at(-1)?.toFixed(0)} ms; ` : "";
  console.log(`${name}: events ${events}; ${slow}the page worked ${each("TaskDuration")} ms each (script ${each("ScriptDuration")}, layout ${each("LayoutDuration")}, style ${each("RecalcStyleDuration")})`);
}

/** Answers the page asks for, from copies. In the page: through the browser's interception it takes minutes. */
function copies([ids, made, talk, every]) {
  const real = window.fetch;
  const json = (value) => new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
  window.fetch = async (to, options) => {
    const at = String(to.url ?? to);
    if (/\/conversations\/[^/]+\/messages/.test(at)) return json({ items: ids.map((run, seq) => ({ seq, run, body: {}, created_at: 0 })), next: null });
    const run = /\/runs\/(run_0{20}\d+)/.exec(at)?.[1];
    return run ? json({ ...(ids.indexOf(run) % every === every - 1 ? made : talk), run }) : real(to, options);
  };
}

try {
  const made = await daemon.api("POST", "/runs", { text: "Question", wait: true, limits: { rounds: 100, calls: 200 } });
  const talk = await daemon.api("POST", "/runs", { text: "Talk", wait: true, conversation: made.conversation });
  const ids = Array.from({ length: RUNS + TALKS }, (_, at) => `run_${String(at).padStart(32, "0")}`);
  // So that a run with cards is the last one, or the one before the last.
  const every = Math.floor(ids.length / RUNS);
  const shift = process.env.LAST === "1" ? every * RUNS : every * RUNS + 1;
  await page.addInitScript(copies, [ids.slice(0, shift), made, talk, every]);
  await page.goto("about:blank");
  const began = Date.now();
  await page.goto(`${daemon.url}/#/chat/${made.conversation}`);
  const messages = () => page.evaluate(() => document.querySelectorAll(".log .me, .log .md").length);
  await eventually(async () => (await messages()) > 0, "the end of the conversation");
  const earlier = () => page.evaluate(() => {
    const button = document.querySelector(".log > button");
    button?.click();
    return Boolean(button);
  });
  for (let before = await messages(); await earlier(); before = await messages()) {
    await eventually(async () => (await messages()) > before, "the earlier messages");
  }
  console.log(`${await messages()} messages and ${await page.locator(".log .card").count()} cards after ${((Date.now() - began) / 1000).toFixed(1)} s; load average ${os.loadavg()[0].toFixed(1)}`);
  await page.waitForTimeout(SETTLE_MS);
  const box = page.locator("[data-composer]");
  const repeat = async (count, act) => {
    for (let at = 0; at < count; at++) {
      await act(at);
      await page.waitForTimeout(120);
    }
  };
  await box.focus();
  await page.evaluate(() => addEventListener("keydown", ({ key }) => {
    for (const end = performance.now() + 60; key === "F9" && performance.now() < end; );
  }));
  await interactions("a key that is held for 60 ms", 3, () => repeat(3, () => page.keyboard.press("F9")));
  await interactions("the first key", 1, () => page.keyboard.press("a"));
  await interactions("a key", KEYS.length, () => box.pressSequentially(KEYS, { delay: 120 }));
  await interactions("a key erased", 10, () => repeat(10, () => page.keyboard.press("Backspace")));
  await interactions("a new line", 5, () => repeat(5, () => page.keyboard.press("Shift+Enter")));
  await box.fill("");
  await page.mouse.move(640, 400);
  await interactions("a turn of the wheel", TURNS, async () => {
    for (let at = 0; at < TURNS; at++) {
      await page.mouse.wheel(0, at < TURNS / 2 ? -600 : 600);
      await page.waitForTimeout(50);
    }
  }, true);
  await page.locator(".log .card .head").last().scrollIntoViewIfNeeded();
  await page.waitForTimeout(SETTLE_MS);
  await interactions("opening a card", 2, () => repeat(2, () => page.locator(".log .card .head").last().click()));
  console.log(`heap ${await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6))} MB`);
} finally {
  await browser.close();
  await daemon.stop();
}
