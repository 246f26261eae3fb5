// Figures of the page: sizes, first content, and how long decisions and events take. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure.mjs
import fs from "node:fs";
import path from "node:path";

import { ask, Daemon, eventually, launch, signIn } from "./support.mjs";

const ROUNDS = 12;
const calls = Array.from({ length: ROUNDS }, (_, number) => `  - calls: [{tool: delete_file, args: {path: f${number}.txt}}]`).join("\n");
const long = Array.from({ length: 12_000 }, (_, number) => `word${number}`).join(" ");
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const daemon = await Daemon.start(`version: 1\nturns:\n${calls}\n  - say: "${long}"\n`);
const browser = await launch();
try {
  const context = await browser.newContext();
  const page = await signIn(context, daemon);
  const loads = [];
  for (let round = 0; round < 7; round++) {
    await page.goto("about:blank");
    await page.goto(daemon.url);
    await page.waitForSelector("[data-composer]");
    loads.push(
      await page.evaluate(() => {
        const [load] = performance.getEntriesByType("navigation");
        return performance.getEntriesByName("first-contentful-paint")[0].startTime - load.responseStart;
      }),
    );
  }
  console.log(`first content after the daemon's answer: median ${median(loads).toFixed(0)} ms`);

  await page.goto(`${daemon.url}/#/tools`);
  await page.waitForSelector('[data-tool="read_file"]');
  const switches = [];
  for (let round = 0; round < 10; round++) {
    const state = round % 2 ? "on" : "off";
    await daemon.api("PUT", "/switches/tool:read_file", { state });
    const answered = Date.now();
    await page.waitForFunction((off) => document.querySelector('[data-tool="read_file"]').classList.contains("off") === off, state === "off");
    switches.push(Date.now() - answered);
  }
  console.log(`a switch that another program sets is on the screen: median ${median(switches)} ms after the answer to it`);

  for (let number = 0; number < ROUNDS; number++) fs.writeFileSync(path.join(daemon.workspace, `f${number}.txt`), "x");
  await page.goto(`${daemon.url}/#/chat`);
  await ask(page, "Delete them");
  const decisions = [];
  for (let number = 0; number < ROUNDS; number++) {
    const card = page.locator(".approval", { hasText: `f${number}.txt` });
    await card.waitFor();
    await page.waitForTimeout(600);
    const clicked = await card.getByRole("button", { name: "Allow once" }).evaluate((button) => {
      button.click();
      return Date.now();
    });
    const row = await eventually(async () => {
      const { items } = await daemon.api("GET", "/calls?tool=delete_file&limit=20");
      return items.find((one) => one.args?.path === `f${number}.txt` && one.started_at);
    }, "the call");
    decisions.push(row.started_at - clicked);
  }
  console.log(`a decision clicked starts the call: median ${median(decisions)} ms`);
  const client = await context.newCDPSession(page);
  await client.send("Performance.enable");
  await eventually(async () => (await page.locator(".usage").count()) > 0, "the long answer");
  const { metrics } = await client.send("Performance.getMetrics");
  const metric = (name) => metrics.find((one) => one.name === name).value;
  console.log(`an answer of ${(long.length / 1000).toFixed(0)} kB is shown; tasks of the page so far: ${metric("TaskDuration").toFixed(1)} s, heap ${(metric("JSHeapUsedSize") / 1e6).toFixed(1)} MB`);
} finally {
  await browser.close();
  await daemon.stop();
}
