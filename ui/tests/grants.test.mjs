// Approvals for longer: seen on the page, and taken back there.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - calls: [{tool: delete_file, args: {path: a.txt}}]
  - say: Done.
`;

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("what is allowed for longer is seen among the rules, and asked about again when it is taken back", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    const begin = () => {
      fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "1");
      return daemon.api("POST", "/runs", { text: "Remove a.txt", wait: true });
    };
    await begin();
    const [asked] = (await daemon.api("GET", "/approvals")).items;
    await daemon.api("POST", `/approvals/${asked.approval}`, { decision: "approve", scope: "always", nonce: asked.nonce });
    await eventually(async () => (await daemon.api("GET", "/runs?state=ended")).items.length === 1, "the end of the run");
    assert.equal((await begin()).state, "ended", "nobody is asked");
    await page.evaluate(() => (location.hash = "#/rules"));
    const row = page.locator("[data-grant]");
    await row.getByText("delete_file").waitFor();
    await row.getByText("Always").waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/grants.png`, fullPage: true });
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Every call that needs an approval is asked about").waitFor();
    assert.deepEqual((await daemon.api("GET", "/grants")).items, []);
    assert.equal((await begin()).state, "paused", "it is asked about again");
  });
});

test("at 360 px the title of a conversation has room, and rules are not broken into pieces", async () => {
  await withPage(browser, "version: 1\nturns:\n  - say: Done.\n", async ({ daemon, page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    const run = await daemon.api("POST", "/runs", { text: "Keep my shopping list for the weekend", wait: true });
    await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(git push --force:*)" }]);
    await page.evaluate((to) => (location.hash = `#/chat/${to}`), run.conversation);
    const title = page.locator(".main > .bar h1");
    await title.getByText("Keep my").waitFor();
    const width = (await title.boundingBox()).width;
    assert.ok(width > 120, `${width} px for the title`);
    await page.getByRole("button", { name: "More of this conversation" }).click();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/bar360.png` });
    await page.getByRole("button", { name: "Delete conversation" }).click();
    await page.getByText("Deleted “Keep my").waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the undo fits the window");
    await page.evaluate(() => (location.hash = "#/rules"));
    const rule = page.locator("td code", { hasText: "git push --force" });
    await rule.waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/rules360.png`, fullPage: true });
    const height = (await rule.boundingBox()).height;
    assert.ok(height < 45, `${height} px for one rule`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
  });
});
