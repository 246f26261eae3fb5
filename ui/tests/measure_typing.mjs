// What a key, a new line, a turn of the wheel and an opened card cost with 2,000 messages and 510 cards,
// without the hour that a daemon needs to make them: one run with cards and one without are made, and the
// page gets copies of them. With LAST=1, a run with cards is the last one, which is laid out in full.
// Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_typing.mjs
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { Daemon, eventually, launchMeasured, signIn } from "./support.mjs";
import { Timer } from "./timing.mjs";

const ROUNDS = 34;
const RUNS = Number(process.env.RUNS ?? 15);
const TALKS = Number(process.env.TALKS ?? 730);
const SETTLE_MS = 1_500;
const KEYS = "a message while all is there";
const text = "Some **words** with `code` that a model says beside its call, long enough for two lines in the column of the chat, as answers are.";
const rounds = Array.from({ length: ROUNDS }, (_, at) => `  - say: "${text}"\n    calls: [{tool: read_file, args: {path: f${at}.txt}}]\n`).join("");
const daemon = await Daemon.start(`version: 1\nturns:\n${rounds}  - say: Done.\n  - say: "${text}"\n`);
for (let at = 0; at < ROUNDS; at++) fs.writeFileSync(path.join(daemon.workspace, `f${at}.txt`), `line ${at}\n`.repeat(20));
const { browser, context } = await launchMeasured();
const page = await signIn(context, daemon);
const timer = await Timer.of(page, context);

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
  await box.focus();
  await timer.control();
  await timer.time("the first key", 1, () => page.keyboard.press("a"));
  await timer.time("a key", KEYS.length, () => box.pressSequentially(KEYS, { delay: 120 }));
  await timer.time("a key erased", 10, () => timer.repeat(10, () => page.keyboard.press("Backspace")));
  await timer.time("a new line", 5, () => timer.repeat(5, () => page.keyboard.press("Shift+Enter")));
  await box.fill("");
  await timer.wheel("a turn of the wheel", [640, 400], -600);
  const head = page.locator(".log .card .head").last();
  await head.scrollIntoViewIfNeeded();
  await page.waitForTimeout(SETTLE_MS);
  await timer.time("a card, opened and closed", 4, () => timer.repeat(4, () => head.click(), 400));
  console.log(`heap ${await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6))} MB`);
} finally {
  await browser.close();
  await daemon.stop();
}
