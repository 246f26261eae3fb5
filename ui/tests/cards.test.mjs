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
  await withPage(browser, script(render(BLOCKS), "say: There.", "say: Ordered."), async ({ daemon, page, context }) => {
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
    await page.locator(".md", { hasText: "Ordered." }).waitFor();
    assert.equal((await daemon.api("GET", "/runs")).items.length, 2);
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

const GO = [{ type: "buttons", buttons: [{ label: "Go", action: "callback", value: "do it" }, { label: "Other", action: "callback", value: "no" }] }];

test("a form sends one message, also after a reload", async () => {
  await withPage(browser, script(render(BLOCKS.slice(-1)), "say: There.", "say: Sized."), async ({ daemon, page }) => {
    await ask(page, "Ask how many");
    const card = page.locator("[data-card]");
    await card.getByLabel("Count").fill("20");
    await card.locator("select").selectOption("L");
    const button = card.getByRole("button", { name: "Order", exact: true });
    await button.click();
    await page.locator(".md", { hasText: "Sized." }).waitFor();
    assert.ok(await button.isDisabled());
    await page.reload();
    await button.waitFor();
    await page.locator(".md", { hasText: "Sized." }).waitFor();
    assert.ok(await button.isDisabled(), "the conversation has the answer");
    assert.equal((await daemon.api("GET", "/runs")).items.length, 2);
  });
});

test("the clicked button of a card spins until its run has ended, and is answered after a reload", async () => {
  const turns = script(render(GO), "say: There.", "{delay_ms: 1500, say: Did it.}");
  await withPage(browser, turns, async ({ page }) => {
    await ask(page, "Show it");
    await page.locator(".md", { hasText: "There." }).waitFor();
    const go = page.locator("[data-card]").getByRole("button", { name: "Go" });
    await go.click();
    await go.locator(".spin").waitFor();
    await page.locator(".md", { hasText: "Did it." }).waitFor();
    await eventually(async () => (await go.locator(".spin").count()) === 0, "the end of the motion");
    assert.ok(await go.isDisabled());
    await page.reload();
    await page.locator(".md", { hasText: "Did it." }).waitFor();
    assert.ok(await go.isDisabled());
    assert.equal(await go.locator(".spin").count(), 0);
  });
});

test("a card whose answer could not be sent can be answered again", async () => {
  const expected = ["ERR_FAILED"];
  await withPage(browser, script(render(GO), "say: There.", "say: Did it."), async ({ page }) => {
    await ask(page, "Show it");
    await page.locator(".md", { hasText: "There." }).waitFor();
    await page.locator(".usage").waitFor();
    const go = page.locator("[data-card]").getByRole("button", { name: "Go" });
    await page.route("**/api/v1/runs", (route) => route.abort(), { times: 1 });
    await go.click();
    await page.locator(".composer-wrap .problem").waitFor();
    await eventually(() => go.isEnabled(), "the button");
    await go.click();
    await page.locator(".md", { hasText: "Did it." }).waitFor();
    assert.ok(await go.isDisabled());
  }, { expected });
});
