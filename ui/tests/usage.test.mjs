// Usage by day, model, agent and tool: a plot, and the same as a table.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";

import { launch, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - calls: [{tool: list_dir, args: {}}]
  - say: Over.
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("usage is plotted by day, and the table says the same", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("POST", "/runs", { text: "Look", wait: true });
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
    const { items } = await daemon.api("GET", `/usage?by=day&zone=${encodeURIComponent(zone)}`);
    assert.equal(items.length, 1);
    assert.equal(items[0].calls, 1);
    await page.goto(`${daemon.url}/#/usage`);
    await page.locator('[data-plot="day"]').waitFor();
    // A bar for each of 30 days, and one of them is today's.
    assert.equal(await page.locator(".dayplot rect").count(), 30);
    assert.equal(await page.locator(".dayplot rect").evaluateAll((all) => all.filter((one) => Number(one.getAttribute("height")) > 0).length), 1);
    await page.locator(`[data-row="${items[0].name}"]`).waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "usage-day.png") });
    await page.getByRole("button", { name: "Tool", exact: true }).click();
    await page.locator('[data-row="list_dir"]').waitFor();
    assert.match(await page.locator('[data-plot="tool"]').innerText(), /1 call\b/);
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    await page.locator('[data-row="general-assistant"]').waitFor();
    await page.getByRole("button", { name: "7 days" }).click();
    assert.match(page.url(), /time=week/);
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "usage-agent.png") });
    const refused = await daemon.api("GET", "/usage?by=day&zone=Nowhere/Land");
    assert.match(refused.detail, /no time zone/);
  });
});
