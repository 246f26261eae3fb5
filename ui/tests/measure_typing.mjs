// What a key, a scroll and an opened card cost with 2,000 messages and 510 cards, without the hour that a
// daemon needs to make them: one run with cards and one without are made, and the page gets copies of them.
// Run it by hand: TOOLCRIB_BINARY=… node tests/measure_typing.mjs
import fs from "node:fs";
import path from "node:path";

import { Daemon, eventually, launch, signIn } from "./support.mjs";

const ROUNDS = 34;
const RUNS = Number(process.env.RUNS ?? 15);
const TALKS = Number(process.env.TALKS ?? 730);
const SETTLE_MS = 4_000;
const KEYS = "a message while all is there";
const text = "Some **words** with `code` that a model says beside its call, long enough for two lines in the column of the chat, as answers are.";
const rounds = Array.from({ length: ROUNDS }, (_, at) => `  - say: "${text}"\n    calls: [{tool: read_file, args: {path: f${at}.txt}}]\n`).join("");
const daemon = await Daemon.start(`version: 1\nturns:\n${rounds}  - say: Done.\n  - say: "${text}"\n`);
for (let at = 0; at < ROUNDS; at++) fs.writeFileSync(path.join(daemon.workspace, `f${at}.txt`), `line ${at}\n`.repeat(20));
const browser = await launch();
let client;

/** Seconds that the page has worked, by what. */
async function metrics(page) {
  client ??= await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const { metrics: all } = await client.send("Performance.getMetrics");
  return Object.fromEntries(all.map((one) => [one.name, one.value]));
}

async function interactions(page, count, act) {
  await page.evaluate(() => {
    window.timed = [];
    window.watch?.disconnect();
    window.watch = new PerformanceObserver((list) => list.getEntries().forEach((one) => one.interactionId && window.timed.push([one.name, Math.round(one.duration), Math.round(one.processingEnd - one.processingStart)])));
    window.watch.observe({ type: "event", durationThreshold: 16, buffered: false });
  });
  const before = await metrics(page);
  await act();
  await page.waitForTimeout(SETTLE_MS);
  const after = await metrics(page);
  const each = (name) => `${(((after[name] - before[name]) * 1000) / count).toFixed(1)} ms`;
  const timed = (await page.evaluate(() => window.timed)).map(([, duration]) => duration).toSorted((a, b) => a - b);
  const events = timed.length ? `event timing: median ${timed[Math.floor(timed.length / 2)]} ms, slowest ${timed.at(-1)} ms of ${timed.length} over 16 ms` : "event timing: none over 16 ms";
  return `${events}; work of the page each: ${each("TaskDuration")} (script ${each("ScriptDuration")}, layout ${each("LayoutDuration")}, style ${each("RecalcStyleDuration")})`;
}

try {
  const made = await daemon.api("POST", "/runs", { text: "Question", wait: true, limits: { rounds: 100, calls: 200 } });
  const talk = await daemon.api("POST", "/runs", { text: "Talk", wait: true, conversation: made.conversation });
  const ids = Array.from({ length: RUNS + TALKS }, (_, at) => `run_${String(at).padStart(32, "0")}`);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signIn(context, daemon);
  await page.route(/\/conversations\/[^/]+\/messages/, (route) => route.fulfill({ json: { items: ids.map((run, seq) => ({ seq, run, body: {}, created_at: 0 })), next: null } }));
  await page.route(/\/api\/v1\/runs\/run_0{20}/, (route) => {
    const id = route.request().url().split("/").at(-1);
    const snapshot = structuredClone(Number(id.slice(4)) % Math.ceil(ids.length / RUNS) === 0 ? made : talk);
    return route.fulfill({ json: { ...snapshot, run: id } });
  });
  await page.goto(`${daemon.url}/#/chat/${made.conversation}`);
  const messages = () => page.locator(".log .me, .log .md").count();
  await eventually(async () => (await messages()) > 0, "the end of the conversation");
  const earlier = page.getByRole("button", { name: "Show earlier" });
  while (await earlier.count()) {
    const before = await messages();
    // Not where it is seen: to scroll to it and to wait until it stands still takes seconds each time.
    await earlier.evaluate((button) => button.click());
    await eventually(async () => (await messages()) > before, "the earlier messages");
  }
  console.log(`${await messages()} messages and ${await page.locator(".log .card").count()} cards`);
  await page.waitForTimeout(SETTLE_MS);
  console.log(`a key: ${await interactions(page, KEYS.length, () => page.locator("[data-composer]").pressSequentially(KEYS, { delay: 150 }))}`);
  const wheel = async () => {
    await page.mouse.move(640, 400);
    for (let at = 0; at < 40; at++) {
      await page.mouse.wheel(0, at < 20 ? -900 : 900);
      await page.waitForTimeout(50);
    }
  };
  console.log(`a turn of the wheel: ${await interactions(page, 40, wheel)}`);
  console.log(`opening a card: ${await interactions(page, 1, () => page.locator(".log .card .head").last().click())}`);
  console.log(`heap ${await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6))} MB`);
} finally {
  await browser.close();
  await daemon.stop();
}
