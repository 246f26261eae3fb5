// Figures of the page with much to show: 1,000 tools, a conversation of 2,000 messages with 510 cards, and
// 100,000 rows of history. Each is the duration of an interaction by the browser's own event timing, which
// a busy machine without a screen makes far too long (a frame counts when it is presented), and what the
// page worked for it in time of a processor ("all of it"), which is comparable. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_size.mjs
import fs from "node:fs";
import path from "node:path";

import { Daemon, eventually, launch, signIn } from "./support.mjs";

const RUNS = 15;
const ROUNDS = 34;
/** Runs of a question and an answer: with those of the cards, 2,000 messages of people and models. */
const TALKS = Number(process.env.TALKS ?? 730);
const TOOLS = 1_000;
/** Until entries of the event timing have come, and the page is at rest. */
const SETTLE_MS = 4_000;
const clients = [];
const ROWS = Number(process.env.ROWS ?? 100_000);
const text = "Some **words** with `code` that a model says beside its call, long enough for two lines in the column of the chat, as answers are.";
// Each call is another one, or the guard against repetition would end the run.
const rounds = Array.from({ length: ROUNDS }, (_, at) => `  - say: "${text}"\n    calls: [{tool: read_file, args: {path: f${at}.txt}}]\n`).join("");
const daemon = await Daemon.start(`version: 1\nturns:\n${`${rounds}  - say: Done.\n`.repeat(RUNS)}${`  - say: "${text}"\n`.repeat(TALKS)}`);
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
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
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

/** A server of the Model Context Protocol with a thousand tools. */
const SERVER = `
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "Many", "version": "1"}}
    elif message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string", "description": "What it is about."}}, "required": ["text"]}
        answer["result"] = {"tools": [{"name": f"tool_{n}", "description": f"Looks up what is known of subject {n} in the register of group {n % 37}, and says where it is from.", "inputSchema": schema} for n in range(${TOOLS})]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
`;

async function thousandTools(page) {
  const project = path.join(daemon.folder, "many");
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, "server.py"), SERVER);
  await page.goto(`${daemon.url}/#/servers`);
  await page.getByRole("button", { name: "Add server" }).click();
  const form = page.locator("dialog[open]");
  await form.getByLabel("Name", { exact: true }).fill("many");
  await form.getByLabel("Command").fill(`python3 ${project}/server.py`);
  await form.getByRole("button", { name: "Preview" }).click();
  await form.getByRole("button", { name: "Add 1" }).click();
  await page.locator('[data-server="many"]').getByRole("switch").click();
  await eventually(async () => (await daemon.api("GET", "/tools?limit=5000")).items.length > TOOLS, "the tools");
  const began = Date.now();
  await page.goto(`${daemon.url}/#/chat`);
  await page.goto(`${daemon.url}/#/tools`);
  await page.locator(".toolcard").first().waitFor();
  console.log(`tools: ${(await daemon.api("GET", "/tools?limit=5000")).items.length} tools, the first are shown after ${Date.now() - began} ms`);
  const search = page.locator("[data-search]");
  await page.waitForTimeout(SETTLE_MS);
  const write = (text) => () => search.pressSequentially(text, { delay: 250 });
  const erase = (count) => async () => {
    for (let at = 0; at < count; at++) await search.press("Backspace", { delay: 250 });
  };
  console.log(`tools, typing a search: ${await interactions(page, write("subject 9"))}`);
  console.log(`tools, erasing it: ${await interactions(page, erase(9))}`);
  console.log(`tools, a switch: ${await interactions(page, () => page.locator(".toolcard .seg .off:enabled").nth(9).click())}`);
  console.log(`tools, ${await frames(page)}`);
  await page.waitForTimeout(SETTLE_MS);
  const cards = await page.locator(".toolcard").count();
  console.log(`tools, a switch with ${cards} cards scrolled to: ${await interactions(page, () => page.locator(".toolcard .seg .off:enabled").last().click())}`);
  await page.evaluate(() => scrollTo(0, 0));
  console.log(`tools, typing with ${cards} cards scrolled to: ${await interactions(page, write("group 3"))}`);
  await search.fill("");
  console.log(`tools, opening one: ${await interactions(page, () => page.locator(".toolcard .btn.ic").nth(2).click())}`);
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signIn(context, daemon);
  let conversation;
  for (let run = 0; run < RUNS; run++) {
    const made = await daemon.api("POST", "/runs", { text: `Question ${run}`, wait: true, limits: { rounds: 100, calls: 200 }, ...(conversation ? { conversation } : {}) });
    conversation = made.conversation;
  }
  for (let talk = 0; talk < TALKS; talk++) await daemon.api("POST", "/runs", { text: `Talk ${talk}`, wait: true, conversation });
  const began = Date.now();
  await page.goto(`${daemon.url}/#/chat/${conversation}`);
  const messages = () => page.locator(".log .me, .log .md").count();
  await eventually(async () => (await messages()) > 0, "the end of the conversation");
  console.log(`chat: the end of it is shown after ${Date.now() - began} ms`);
  // All of it, as nobody needs it: each click shows fifteen runs more.
  const earlier = page.getByRole("button", { name: "Show earlier" });
  while (await earlier.count()) {
    const before = await messages();
    await earlier.click();
    await eventually(async () => (await messages()) > before, "the earlier messages");
  }
  console.log(`chat: ${await messages()} messages and ${await page.locator(".log .card").count()} cards are shown after ${Date.now() - began} ms`);
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
  // Last: each request of a model has all of them.
  await thousandTools(page);
} finally {
  await browser.close();
  await daemon.stop();
}
