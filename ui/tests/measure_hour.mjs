// Whether the page stays as large as it is over an hour of events: runs in the conversation that is open
// and in others, questions that are asked and denied, switches, notifications, and a walk through the
// views. Prints, for each minute, what is left after a collection of garbage. With SNAPSHOTS, a folder,
// the heap is written there after ten minutes and at the end. Run it by hand:
// TOOLCRIB_BINARY=… MINUTES=60 node tests/measure_hour.mjs
import fs from "node:fs";
import path from "node:path";

import { Daemon, launch, signIn } from "./support.mjs";

const MINUTES = Number(process.env.MINUTES ?? 60);
/** Between two rounds of events, of about fifteen each. */
const PERIOD_MS = Number(process.env.PERIOD_MS ?? 3_000);
/** Rounds between two runs in the open conversation, and between two steps of the walk. */
const RUN_EVERY = 5;
const WALK_EVERY = 7;
/** A page that has shown every view is compared with itself. */
const SNAPSHOT_MINUTE = 10;
const VIEWS = ["tools", "inbox", "history", "automation", "agents", "settings", "usage"];
/** Pairs of answers: more than the open conversation asks for in an hour. */
const TURNS = 300;
const words = Array.from({ length: 120 }, (_, number) => `word${number}`).join(" ");
// Rounds of one answer that is read, and another with a call that is asked for.
const turn = (at) => `  - say: "**${at}** ${words}"\n    calls: [{tool: read_file, args: {path: f.txt}}, {tool: get_current_time, args: {}}]\n  - say: "Done with ${at}: ${words}"\n`;
const daemon = await Daemon.start(`version: 1\nturns:\n${Array.from({ length: TURNS }, (_, at) => turn(at)).join("")}`);
fs.writeFileSync(path.join(daemon.workspace, "f.txt"), "line\n".repeat(20));
const browser = await launch();

/** Megabytes, elements and listeners that are left after a collection. */
async function sizes(client) {
  for (let time = 0; time < 3; time++) await client.send("HeapProfiler.collectGarbage");
  const { metrics } = await client.send("Performance.getMetrics");
  const metric = (name) => metrics.find((one) => one.name === name).value;
  return { heap: metric("JSHeapUsedSize") / 1e6, nodes: metric("Nodes"), listeners: metric("JSEventListeners"), worked: metric("TaskDuration") };
}

/** Writes the heap of the page in the format of the developer tools. */
async function snapshot(client, name) {
  if (!process.env.SNAPSHOTS) return;
  const file = fs.createWriteStream(path.join(process.env.SNAPSHOTS, `${name}.heapsnapshot`));
  const write = ({ chunk }) => file.write(chunk);
  client.on("HeapProfiler.addHeapSnapshotChunk", write);
  await client.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  client.off("HeapProfiler.addHeapSnapshotChunk", write);
  await new Promise((resolve) => file.end(resolve));
}

/** Megabytes of the daemon's process, and those of them that are no file, such as its own binary. */
function resident() {
  const status = fs.readFileSync(`/proc/${daemon.child.pid}/status`, "utf8");
  const megabytes = (name) => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024).toFixed(0);
  return `${megabytes("VmRSS")} MB, of which ${megabytes("RssAnon")} MB no file`;
}

/** What happens in a round; errors of single requests are told, and do not end the hour. */
async function round(at, conversation) {
  const run = (body) => daemon.api("POST", "/runs", { wait: true, limits: { rounds: 100 }, ...body });
  await run({ text: `Elsewhere ${at}` });
  if (at % RUN_EVERY === 0) await run({ text: `Here ${at}`, conversation });
  await daemon.api("PUT", "/switches/tool:read_file", { state: at % 2 ? "off" : "on" });
  // A call that has to be asked for: it is in the inbox until it is denied.
  const file = `gone${at}.txt`;
  fs.writeFileSync(path.join(daemon.workspace, file), "x");
  await daemon.api("POST", "/calls", { tool: "delete_file", arguments: { path: file }, wait_ms: 0 });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { items } = await daemon.api("GET", "/approvals?limit=10");
  for (const { approval, nonce } of items) await daemon.api("POST", `/approvals/${approval}`, { decision: "deny", nonce });
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await signIn(context, daemon, { expected: ["404", "409"] });
  const { conversation } = await daemon.api("POST", "/runs", { text: "The first one", wait: true });
  const client = await context.newCDPSession(page);
  await client.send("Performance.enable");
  const show = (view) => page.evaluate((to) => { location.hash = to; }, view);
  await show(`#/chat/${conversation}`);
  await page.waitForSelector(".log .card");
  const begun = Date.now();
  const samples = [];
  let rounds = 0;
  for (let minute = 0; minute <= MINUTES; minute++) {
    while (Date.now() - begun < minute * 60_000) {
      const next = Date.now() + PERIOD_MS;
      await round(rounds, conversation).catch((error) => console.log(`round ${rounds}: ${error.message}`));
      const at = Math.floor(rounds / WALK_EVERY);
      if (rounds % WALK_EVERY === 0) await show(at % 2 ? `#/chat/${conversation}` : `#/${VIEWS[(at / 2) % VIEWS.length]}`);
      rounds++;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
    }
    // Always of the same view.
    const back = await page.evaluate(() => location.hash);
    await show(`#/chat/${conversation}`);
    await page.waitForTimeout(1_000);
    samples.push(await sizes(client));
    const { heap, nodes, listeners, worked } = samples.at(-1);
    const runs = await page.locator(".log .me").count();
    const { items: open } = await daemon.api("GET", "/approvals?limit=10");
    console.log(`${minute} min, ${rounds} rounds: heap ${heap.toFixed(1)} MB, ${nodes} nodes, ${listeners} listeners, ${runs} runs shown, ${open.length} questions open; page worked ${worked.toFixed(0)} s; daemon ${resident()}`);
    if (minute === SNAPSHOT_MINUTE || minute === MINUTES) await snapshot(client, `minute-${minute}`);
    await show(back);
  }
  // The least of a quarter of an hour: the conversation in sight grows and is cut again meanwhile.
  const quarters = [0, 1, 2, 3].map((quarter) => samples.slice(1 + (quarter * MINUTES) / 4, 1 + ((quarter + 1) * MINUTES) / 4));
  for (const name of ["heap", "nodes", "listeners"]) {
    console.log(`${name}, least and most of each quarter: ${quarters.map((of) => { const all = of.map((one) => one[name]); return all.length ? `${Math.min(...all).toFixed(1)}–${Math.max(...all).toFixed(1)}` : "-"; }).join(", ")}`);
  }
  if (page.faults.length) console.log(`faults of the page: ${page.faults.slice(0, 5).join("; ")} (${page.faults.length})`);
} finally {
  await browser.close();
  await daemon.stop();
}
