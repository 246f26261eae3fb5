// What is exported is all of it, not what is on the screen.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

async function exported(page) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).first().click()]);
  return fs.readFileSync(await file.path(), "utf8");
}

test("the export of a conversation has the runs that are not shown", async () => {
  const turns = Array.from({ length: 18 }, (_, at) => `  - say: Answer ${at}.\n`).join("");
  await withPage(browser, `version: 1\nturns:\n${turns}`, async ({ daemon, page }) => {
    let conversation;
    for (let at = 0; at < 18; at++) {
      const run = await daemon.api("POST", "/runs", { text: `message ${at}`, wait: true, ...(conversation ? { conversation } : {}) });
      conversation = run.conversation;
    }
    await page.evaluate((to) => (location.hash = `#/chat/${to}`), conversation);
    await page.getByText("Answer 17.").waitFor();
    assert.equal(await page.getByText("Answer 0.").count(), 0);
    const text = await exported(page);
    const said = text.match(/message \d+|Answer \d+/g);
    assert.deepEqual(said, Array.from({ length: 18 }, (_, at) => [`message ${at}`, `Answer ${at}`]).flat());
  });
});

test("the export of the history has the rows that are not loaded", async () => {
  await withPage(browser, "version: 1\nturns:\n  - say: Nothing.\n", async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "1");
    const calls = Array.from({ length: 60 }, () => ({ tool: "file_info", arguments: { path: "a.txt" } }));
    for (let at = 0; at < 9; at++) await daemon.api("POST", "/calls/batch", { calls });
    await page.evaluate(() => (location.hash = "#/history?tool=file_info"));
    await page.locator(".hrow").first().waitFor();
    const rows = (await exported(page)).trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(rows.length, 540);
    assert.equal(new Set(rows.map((row) => row.call)).size, 540);
    assert.deepEqual([...new Set(rows.map((row) => row.tool))], ["file_info"]);
  });
});
