// Cards of blocks (`rich_render`) on the page: drawn, their buttons do what they say, and words from
// outside are not sent before they were read.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, eventually, launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const BLOCKS = [
  { type: "text", text: "Sales of **May**, <b>not</b> markup." },
  { type: "metric", label: "Orders", value: "1,240", unit: "pcs", change: "+4 %", trend: "up" },
  { type: "chart", kind: "bar", title: "By week", labels: ["W1", "W2", "W3"], series: [{ name: "2025", values: [3, 7, 5] }, { name: "2026", values: [4, -2, 9] }], unit: "k" },
  { type: "chart", kind: "line", labels: ["a", "b", "c"], series: [{ values: [1, 2, 3] }] },
  { type: "chart", kind: "pie", labels: ["North", "South"], series: [{ values: [30, 70] }] },
  { type: "progress", label: "Plan", value: 62 },
  { type: "timeline", items: [{ title: "Ordered", time: "May 2", state: "done" }, { title: "Sent", state: "current" }, { title: "There", state: "open" }] },
  { type: "alert", level: "warning", title: "Low stock", text: "Two days are left." },
  { type: "badge", label: "Draft", level: "info" },
  { type: "keyvalue", title: "Order", items: [{ key: "Number", value: "A-17" }] },
  { type: "columns", columns: [{ blocks: [{ type: "text", text: "left" }] }, { blocks: [{ type: "text", text: "right" }] }] },
  { type: "section", title: "Details", id: "more", collapsed: true, blocks: [{ type: "table", columns: ["City", "Count"], rows: [["Bremen", "4"]] }] },
  { type: "buttons", buttons: [{ label: "Show details", action: "toggle", value: "more" }, { label: "Reorder", action: "callback", value: "Order 20 more" }, { label: "Site", action: "open_url", value: "https://shop.example.com/" }, { label: "Copy number", action: "copy", value: "A-17" }] },
  { type: "form", title: "How many?", fields: [{ name: "count", label: "Count", kind: "number", required: true }, { name: "size", kind: "choice", options: ["S", "L"] }], submit: "Order" },
];
const script = (...turns) => `version: 1\nturns:\n${turns.map((turn) => `  - ${turn}\n`).join("")}`;
const render = (blocks) => `calls: [{tool: rich_render, args: ${JSON.stringify({ blocks })}}]`;

test("every block is drawn, and buttons and forms do what they say", async () => {
  await withPage(browser, script(render(BLOCKS), "say: There.", "say: Ordered.", "say: Sized."), async ({ daemon, page, context }) => {
    await ask(page, "Show the sales");
    const card = page.locator("[data-card]");
    await card.locator("strong", { hasText: "May" }).waitFor();
    assert.equal(await card.locator(".md b").count(), 0, "a text is no markup");
    await card.getByText("1,240").waitFor();
    assert.equal(await card.locator("svg rect").count(), 6);
    assert.equal(await card.locator("svg polyline").count(), 1);
    assert.equal(await card.locator("svg path[d^='M70 70L']").count(), 2);
    assert.equal(await card.locator("progress").evaluate((one) => one.value / one.max), 0.62);
    await card.getByText("Low stock").waitFor();
    assert.equal(await card.getByText("Bremen").isVisible(), false);
    await card.getByRole("button", { name: "Show details" }).click();
    await card.getByText("Bremen").waitFor();
    await card.getByRole("button", { name: "Show details" }).click();
    await eventually(async () => !(await card.getByText("Bremen").isVisible()), "the section closes");
    const site = card.getByRole("link", { name: "Site" });
    assert.equal(await site.getAttribute("href"), "https://shop.example.com/");
    assert.equal(await site.getAttribute("rel"), "noopener noreferrer");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await card.getByRole("button", { name: "Copy number" }).click();
    await eventually(async () => (await page.evaluate(() => navigator.clipboard.readText())) === "A-17", "the copy");
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/card.png`, fullPage: true });
    await page.fill("[data-composer]", "my own draft");
    await card.getByRole("button", { name: "Reorder" }).click();
    await page.locator(".me", { hasText: "Order 20 more" }).waitFor();
    assert.equal(await page.locator("[data-composer]").inputValue(), "my own draft", "what the person types stays");
    assert.ok(await card.getByRole("button", { name: "Reorder" }).isDisabled(), "one answer for a card");
    // After a reload the card is there again, and its form sends one message.
    await page.reload();
    await card.getByLabel("Count").fill("20");
    await card.locator("select").selectOption("L");
    await card.getByRole("button", { name: "Order", exact: true }).click();
    await page.locator(".me", { hasText: "Count: 20" }).waitFor();
    const { items } = await daemon.api("GET", "/runs");
    assert.equal(items.length, 3);
  });
});

test("an address that is none of the web is no link", async () => {
  const buttons = [{ label: "Site", action: "open_url", value: "https://user:word@shop.example.com/" }];
  await withPage(browser, script(render([{ type: "buttons", buttons }]), "say: There."), async ({ page }) => {
    await ask(page, "Show it");
    const card = page.locator("[data-card]");
    await card.getByText("Site").waitFor();
    assert.equal(await card.locator("a, button").count(), 0);
  });
});
