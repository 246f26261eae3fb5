// Figures of the page: first content, how long decisions and events take, and what an answer of 100 kB
// costs that streams for a minute. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure.mjs
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";

import { ask, Daemon, eventually, launchMeasured, signIn } from "./support.mjs";

const ROUNDS = 20;
/** Questions of one run: with more, it would end for its limits. */
const EACH = 10;
const calls = (run) => Array.from({ length: EACH }, (_, number) => `  - calls: [{tool: delete_file, args: {path: f${run * EACH + number}.txt}}]\n`).join("");
const KILOBYTES = 100;
/** 1,700 characters a second: four times as fast as models that are called fast. */
const STREAM_SECONDS = Number(process.env.STREAM_SECONDS ?? 60);
const PIECE = 8;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const said = (values) => `median ${median(values).toFixed(0)} ms, longest ${Math.max(...values).toFixed(0)} ms of ${values.length}`;

/** What models write: headings, paragraphs, lists, tables and code. */
function markdown(at) {
  const words = Array.from({ length: 60 }, (_, number) => (number % 9 ? `word${at}${number}` : `**bold ${number}**`)).join(" ");
  const code = Array.from({ length: 12 }, (_, number) => `  const value${number} = await read("file${at}", ${number}); // a comment`).join("\n");
  return `## Part ${at}\n\n${words} with \`code\` and [a link](https://example.com/${at}).\n\n- one of them\n- another, *with stress*\n\n| name | value |\n|---|---|\n| a | ${at} |\n| b | ${at * 2} |\n\n\`\`\`js\nasync function part${at}() {\n${code}\n}\n\`\`\`\n\n`;
}
const kinds = {
  "of paragraphs, lists, tables and code": () => Array.from({ length: 200 }, (_, at) => markdown(at)).join("").slice(0, KILOBYTES * 1000),
  "that is one block of code": () => `\`\`\`js\n${"const value = await read(\"file\", 12); // a comment\n".repeat(4_000)}`.slice(0, KILOBYTES * 1000),
  "that is one paragraph": () => Array.from({ length: 20_000 }, (_, at) => `word${at}`).join(" ").slice(0, KILOBYTES * 1000),
};

/** A provider in the format of Chat Completions that streams a text at an even pace. */
async function provider(texts) {
  const server = http.createServer((request, answer) => {
    request.resume().on("end", async () => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      const say = (choice, more = {}) => answer.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`);
      const text = texts.shift();
      const begun = Date.now();
      for (let at = 0; at < text.length; at += PIECE) {
        say({ delta: { role: "assistant", content: text.slice(at, at + PIECE) } });
        const due = begun + (STREAM_SECONDS * 1000 * at) / text.length;
        if (due > Date.now()) await new Promise((resolve) => setTimeout(resolve, due - Date.now()));
      }
      say({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } });
      answer.end("data: [DONE]\n\n");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

/** The folder of this browser's profile, which all of its processes have in their command line. */
function profile() {
  for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      const found = parent === process.pid && /--user-data-dir=[^\0]+/.exec(fs.readFileSync(`/proc/${pid}/cmdline`, "utf8"));
      if (found) return found[0];
    } catch {
      // It has ended.
    }
  }
  throw new Error("the browser has no profile");
}

/** Seconds of a processor that the tasks of the page took so far, the processes that draw pages, and all
 *  of the browser: without a graphics card, another one puts the frames together. */
async function worked(client) {
  const { metrics } = await client.send("Performance.getMetrics");
  const sums = { page: metrics.find((one) => one.name === "TaskDuration").value, renderers: 0, browser: 0 };
  for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!words.includes(own)) continue;
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const seconds = (Number(fields[11]) + Number(fields[12])) / 100;
      sums.browser += seconds;
      if (words.includes("--type=renderer")) sums.renderers += seconds;
    } catch {
      // It has ended.
    }
  }
  return sums;
}

const daemon = await Daemon.start(`version: 1\nturns:\n${[0, 1].map((run) => `${calls(run)}  - say: Done.\n`).join("")}`);
const { browser, context } = await launchMeasured();
const own = profile();
try {
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
  // When a change came to the screen: behind the frame that shows it.
  await page.evaluate(() => {
    window.turned = [];
    const card = document.querySelector('[data-tool="read_file"]');
    let before = card.classList.contains("off");
    new MutationObserver(() => {
      const off = card.classList.contains("off");
      if (off !== before) requestAnimationFrame(() => setTimeout(() => window.turned.push(Date.now())));
      before = off;
    }).observe(card, { attributes: true, attributeFilter: ["class"] });
  });
  const switches = [];
  for (let round = 0; round < ROUNDS; round++) {
    await daemon.api("PUT", "/switches/tool:read_file", { state: round % 2 ? "on" : "off" });
    const answered = Date.now();
    await eventually(() => page.evaluate((count) => window.turned.length > count, round), "the switch");
    switches.push((await page.evaluate(() => window.turned.at(-1))) - answered);
    await page.waitForTimeout(200);
  }
  console.log(`load average ${os.loadavg()[0].toFixed(1)}`);
  console.log(`a switch that another program sets is on the screen: ${said(switches)} after the answer to it`);

  for (let number = 0; number < ROUNDS; number++) fs.writeFileSync(path.join(daemon.workspace, `f${number}.txt`), "x");
  await page.goto(`${daemon.url}/#/chat`);
  // When a question, and the card of a call that has ended, came to the screen, and when a click was made.
  await page.evaluate(() => {
    window.shown = {};
    const seen = (name) => {
      if (name in window.shown) return;
      window.shown[name] = 0;
      requestAnimationFrame(() => setTimeout(() => (window.shown[name] = Date.now())));
    };
    new MutationObserver(() => {
      for (const one of document.querySelectorAll(".approval")) seen(`asked ${/f\d+\.txt/.exec(one.textContent)?.[0]}`);
      for (const one of document.querySelectorAll("[data-call]")) if (/Succeeded|Done/.test(one.textContent)) seen(`ended ${one.dataset.call}`);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
    addEventListener("click", (event) => (window.clicked = performance.timeOrigin + event.timeStamp), true);
  });
  const [decisions, asked, ended] = [[], [], []];
  for (let number = 0; number < ROUNDS; number++) {
    if (number % EACH === 0) await ask(page, "Delete them");
    const card = page.locator(".approval", { hasText: `f${number}.txt` });
    await card.waitFor();
    await page.waitForTimeout(600);
    const question = (await daemon.api("GET", "/approvals?limit=10")).items.find((one) => JSON.stringify(one).includes(`f${number}.txt`));
    await card.getByRole("button", { name: "Allow once" }).click();
    const clicked = await page.evaluate(() => window.clicked);
    const row = await eventually(async () => {
      const { items } = await daemon.api("GET", "/calls?tool=delete_file&limit=20");
      return items.find((one) => one.args?.path === `f${number}.txt` && one.ended_at);
    }, "the call");
    decisions.push(row.started_at - clicked);
    await page.waitForTimeout(300);
    const shown = await page.evaluate(() => window.shown);
    asked.push(shown[`asked f${number}.txt`] - question.requested_at);
    ended.push(shown[`ended ${row.call}`] - row.ended_at);
  }
  console.log(`a decision clicked starts the call: ${said(decisions)} after the event of the click`);
  console.log(`a question is on the screen: ${said(asked)} after the daemon asked`);
  console.log(`the end of a call is on the screen: ${said(ended)} after it; load average ${os.loadavg()[0].toFixed(1)}`);

  const client = await context.newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const wanted = Object.entries(kinds).filter(([kind]) => !process.env.KIND || kind.includes(process.env.KIND));
  const upstream = await provider(wanted.map(([, text]) => text()));
  try {
    await daemon.api("PUT", "/secrets/openai_compatible_api_key", { value: "a-key-0123456789" });
    await daemon.api("PUT", "/settings/providers.openai-compatible.base_url", { value: upstream.url });
    for (const [kind] of wanted) {
      await page.goto("about:blank");
      await page.goto(`${daemon.url}/#/chat`);
      await page.waitForSelector("[data-composer]");
      await page.waitForTimeout(1_000);
      const made = await daemon.api("POST", "/runs", { text: "Say much", model: "openai-compatible/m" });
      await page.evaluate((to) => { location.hash = to; }, `#/chat/${made.conversation}`);
      const [before, begun] = [await worked(client), Date.now()];
      await eventually(async () => (await daemon.api("GET", `/runs/${made.run}`)).state === "ended", "the long answer", STREAM_SECONDS * 1000 + 60_000);
      const [after, seconds] = [await worked(client), (Date.now() - begun) / 1000];
      await page.waitForTimeout(1_000);
      const length = await page.evaluate(() => document.querySelector(".md").textContent.length);
      const share = (name) => `${(((after[name] - before[name]) / seconds) * 100).toFixed(1)} %`;
      console.log(`an answer of ${KILOBYTES} kB ${kind}, streamed for ${seconds.toFixed(0)} s: tasks of the page ${share("page")} of a core, its process ${share("renderers")}, all of the browser ${share("browser")} (${length} characters shown)`);
    }
  } finally {
    upstream.close();
  }
} finally {
  await browser.close();
  await daemon.stop();
}
