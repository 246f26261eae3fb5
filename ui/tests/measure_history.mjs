// What scrolling through 100,000 rows of history costs, a filter, and a key in it. A few calls are made,
// and copied in the database while the daemon is down, which needs Python. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_history.mjs
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { Daemon, launchMeasured, signIn } from "./support.mjs";
import { Timer } from "./timing.mjs";

const ROWS = Number(process.env.ROWS ?? 100_000);
/** Ids begin with the time in milliseconds, so those of the copies are of the past. Their records in the
 *  audit chain are left out, which a list of calls does not read. */
const COPY = `
import random, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = int(sys.argv[2])
names = [one[1] for one in db.execute("PRAGMA table_info(calls)")]
models = [dict(zip(names, row)) for row in db.execute("SELECT * FROM calls")]
made = []
for number in range(rows):
    row = dict(models[number % len(models)])
    row["place"] = 1_000_000 + number
    head, tail = row["id"].split("_", 1)
    age = (rows - number) * 2_000
    moment = int(tail.replace("-", "")[:12], 16) - age
    row["id"] = f"{head}_{moment:012x}{tail.replace('-', '')[12:16]}{random.getrandbits(64):016x}"
    if "-" in tail:
        plain = row["id"].split("_", 1)[1]
        row["id"] = f"{head}_{plain[:8]}-{plain[8:12]}-{plain[12:16]}-{plain[16:20]}-{plain[20:]}"
    for name in ("received_at", "started_at", "ended_at"):
        if row[name]:
            row[name] -= age
    made.append([row[name] for name in names])
db.executemany(f"INSERT INTO calls ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", made)
db.commit()
`;
const TOOLS = [["get_current_time", {}], ["read_file", { path: "f.txt" }], ["read_file", { path: "missing.txt" }], ["list_directory", { path: "." }]];
const daemon = await Daemon.start(`version: 1\nturns:\n  - say: Done.\n`);
const { browser, context } = await launchMeasured();
try {
  fs.writeFileSync(path.join(daemon.workspace, "f.txt"), "line\n".repeat(20));
  for (const [tool, args] of TOOLS) await daemon.api("POST", "/calls", { tool, arguments: args });
  await daemon.end();
  execFileSync("python3", ["-c", COPY, path.join(daemon.folder, "home/state/toolcrib.db"), `${ROWS}`], { stdio: "inherit" });
  await daemon.run();
  const page = await signIn(context, daemon);
  const timer = await Timer.of(page, context);
  const first = Date.now();
  const answered = await daemon.api("GET", "/calls?limit=100");
  console.log(`a page of ${answered.items?.length} rows: ${Date.now() - first} ms; load average ${os.loadavg()[0].toFixed(1)}`);
  const opened = Date.now();
  await page.goto(`${daemon.url}/#/history`);
  await page.locator(".hrow").first().waitFor();
  console.log(`the first rows are shown after ${Date.now() - opened} ms`);
  await page.waitForTimeout(2_000);
  const search = page.locator(".historyfilters [data-search]");
  await search.focus();
  await timer.control();
  await timer.time("a key of the name of a tool", 9, () => search.pressSequentially("read_file", { delay: 200 }));
  await timer.time("the filter", 1, () => search.press("Enter"));
  await timer.time("a filter that is chosen", 1, () => page.locator(".historyfilters select").first().selectOption("failed"));
  await page.evaluate(() => { location.hash = "#/history"; });
  await page.waitForTimeout(1_000);
  const rows = () => page.locator(".hlist").getAttribute("aria-label").then(() => page.evaluate(() => Math.round(document.querySelector(".hlist").scrollHeight / 37)));
  await timer.wheel("a turn of the wheel", [640, 500], 1_200);
  // To the end of what was read, which asks for more, time after time.
  const jump = () => page.evaluate(() => { document.querySelector(".hlist").scrollTop = 1e9; });
  await timer.time("a jump to the end, which reads more", 40, () => timer.repeat(40, jump, 150), true);
  console.log(`${await rows()} rows are there`);
  const seconds = Number(process.env.FAR_SECONDS ?? 60);
  for (const end = Date.now() + seconds * 1_000; Date.now() < end && (await rows()) < ROWS; ) {
    await jump();
    await page.waitForTimeout(20);
  }
  console.log(`after ${seconds} s of that ${await rows()} rows are there; heap ${await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6))} MB`);
  await timer.wheel("a turn of the wheel there", [640, 500], -1_200);
  await timer.time("a row that is opened", 1, () => page.locator(".hrow").nth(12).click());
} finally {
  await browser.close();
  await daemon.stop();
}
