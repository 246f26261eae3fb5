// The page that draws cards in clients of MCP (`ui://toolcrib/card`): read over MCP as any client
// does, shown in a frame of a host that is not ours, and in ours through a second Toolcrib.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";

import { Daemon, ask, eventually, launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const PAGE = "ui://toolcrib/card";
const KIND = "text/html;profile=mcp-app";
const REVISION = "2026-07-28";

/** A request of a client of the present revision, over HTTP. */
async function mcp(daemon, method, params, extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [KIND] } }) {
  const meta = { protocolVersion: REVISION, clientCapabilities: { extensions }, clientInfo: { name: "test", version: "1" } };
  const _meta = Object.fromEntries(Object.entries(meta).map(([key, value]) => [`io.modelcontextprotocol/${key}`, value]));
  const named = params.name ?? params.uri;
  const headers = {
    authorization: `Bearer ${daemon.token}`, "content-type": "application/json", accept: "application/json, text/event-stream",
    "mcp-protocol-version": REVISION, "mcp-method": method, ...(named ? { "mcp-name": named } : {}),
  };
  const answer = await fetch(`${daemon.url}/mcp`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }) });
  const text = await answer.text();
  const message = JSON.parse(text.split("\n").find((line) => line.startsWith("data: {"))?.slice(6) ?? text);
  assert.ok(message.result, text);
  return message.result;
}

/** A host of the standard with the page in a frame without an origin. It keeps what it is asked. */
const HOST = `<!doctype html><title>Host</title><iframe sandbox="allow-scripts" style="width: 100%; height: 900px; border: 0"></iframe><script>
const frame = document.querySelector("iframe");
window.asked = [];
window.host = { hostCapabilities: { message: { text: {} }, openLinks: {} }, hostContext: { theme: "light", locale: "en-US" }, answer: {} };
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
window.show = (result) => post({ method: "ui/notifications/tool-result", params: result });
window.change = (context) => post({ method: "ui/notifications/host-context-changed", params: context });
addEventListener("message", ({ data }) => {
  if (data.method) window.asked.push(data);
  if (data.method === "ui/initialize") post({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" }, ...window.host } });
  else if (data.id !== undefined && data.method) post({ id: data.id, result: window.host.answer });
});
</script>`;

/** Runs with the page in a frame of that host, and everything that the browser asks the network for. */
async function withHost(run, host = {}) {
  const daemon = await Daemon.start(null);
  const context = await browser.newContext({ viewport: { width: 720, height: 1000 } });
  try {
    const page = await context.newPage();
    const faults = [];
    const requests = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => message.type() === "error" && !/Clipboard API/.test(message.text()) && faults.push(message.text()));
    await context.route("https://host.example/", (route) => route.fulfill({ contentType: "text/html", body: HOST }));
    await page.goto("https://host.example/");
    page.on("request", (request) => requests.push(request.url()));
    const { contents: [card] } = await mcp(daemon, "resources/read", { uri: PAGE });
    assert.equal(card.mimeType, KIND);
    await page.evaluate(({ html, host }) => {
      Object.assign(window.host, host);
      document.querySelector("iframe").srcdoc = html;
    }, { html: card.text, host });
    const asked = (method) => page.evaluate((method) => window.asked.filter((one) => one.method === method).map((one) => one.params), method);
    await eventually(async () => (await asked("ui/notifications/initialized")).length, "the page");
    const show = (result) => page.evaluate((result) => window.show(result), result);
    await run({ daemon, page, frame: page.frameLocator("iframe"), asked, show });
    assert.deepEqual(faults, []);
    assert.deepEqual(requests.filter((url) => url !== "about:srcdoc"), [], "the page loads nothing");
  } finally {
    await context.close();
    await daemon.stop();
  }
}

const BLOCKS = [
  { type: "text", text: "# May\nSales of **May**, <b>not</b> markup, `code`, ~~old~~ and [the shop](https://shop.example.com/may).\n\n- one\n- two\n\n1. first\n\n> quoted\n\n```\nlet x = 1;\n```\n\n| City | Count |\n|---|---|\n| Oslo | 9 |" },
  { type: "metric", label: "Orders", value: "1,240", unit: "pcs", change: "+4 %", trend: "up" },
  { type: "card", title: "Shop", subtitle: "North", text: "*Open*", blocks: [{ type: "badge", label: "New", level: "success" }], buttons: [{ label: "Visit", action: "open_url", value: "https://shop.example.com/" }] },
  { type: "chart", kind: "bar", title: "By week", labels: ["W1", "W2", "W3"], series: [{ name: "2025", values: [3, 7, 5] }, { name: "2026", values: [4, -2, 9] }], unit: "k" },
  { type: "chart", kind: "line", labels: ["a", "b", "c"], series: [{ values: [1, 2, 3] }] },
  { type: "chart", kind: "pie", labels: ["North", "South"], series: [{ values: [30, 70] }] },
  { type: "progress", label: "Plan", value: 62 },
  { type: "timeline", items: [{ title: "Ordered", time: "May 2", state: "done" }, { title: "Sent", text: "by train", state: "current" }, { title: "There" }] },
  { type: "alert", level: "warning", title: "Low stock", text: "Two days are left." },
  { type: "badge", label: "Draft" },
  { type: "keyvalue", title: "Order", items: [{ key: "Number", value: "A-17" }] },
  { type: "columns", columns: [{ blocks: [{ type: "text", text: "left" }] }, { blocks: [{ type: "text", text: "right" }] }] },
  { type: "section", title: "Details", id: "more", collapsed: true, blocks: [{ type: "table", columns: ["Town", "Count"], rows: [["Bremen", "4"]] }] },
  { type: "buttons", buttons: [{ label: "Show details", action: "toggle", value: "more" }, { label: "Reorder", action: "callback", value: "Order 20 more" }, { label: "Copy number", action: "copy", value: "A-17" }] },
  { type: "form", title: "How many?", fields: [{ name: "count", label: "Count", kind: "number", required: true }, { name: "note", kind: "multiline" }, { name: "day", kind: "date" }, { name: "size", kind: "choice", options: ["S", "L"] }, { name: "gift", label: "Gift", kind: "checkbox", value: "yes" }, { name: "who" }], submit: "Order" },
];

test("only clients that show pages are told of the page", async () => {
  const daemon = await Daemon.start(null);
  try {
    const meta = async (extensions) => (await mcp(daemon, "tools/list", {}, extensions)).tools.find((tool) => tool.name === "rich_render")._meta;
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await meta(undefined), { ui: { resourceUri: PAGE } });
      assert.equal(await meta({}), undefined);
      assert.equal(await meta({ "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } }), undefined);
    }
    const { resources } = await mcp(daemon, "resources/list", {});
    assert.equal(resources.find((one) => one.uri === PAGE).mimeType, KIND);
  } finally {
    await daemon.stop();
  }
});

test("every block is drawn in a client of MCP, and buttons and forms ask that client", async () => {
  await withHost(async ({ daemon, page, frame, asked, show }) => {
    const result = await mcp(daemon, "tools/call", { name: "rich_render", arguments: { blocks: BLOCKS } });
    assert.equal(result.content[0].text, "Shown to the person: 15 blocks.");
    assert.equal(result.structuredContent.blocks.length, BLOCKS.length);
    await show(result);
    await frame.locator("strong", { hasText: "May" }).waitFor();
    const count = (selector) => frame.locator(selector).count();
    assert.equal(await count("p b:text-is('not')"), 0, "a text is no markup");
    for (const [selector, expected] of [
      ["h3:text-is('May')", 1], ["code:text-is('code')", 1], ["s:text-is('old')", 1], [".md ul li", 2], [".md ol li", 1], ["blockquote", 1], [".md pre", 1], [".md td", 2],
      [".metric b", 1], ["section.box .badge.success", 1], ["svg rect", 6], ["svg polyline", 1], ["svg.pie path[d^='M70 70L']", 2], ["ol.steps li", 3],
      [".alert.warning", 1], ["dl dt", 1], [".columns .blocks", 2], ["form input[type=number]", 1], ["form input[type=date]", 1], ["form textarea", 1], ["form select option", 3], ["form input[type=checkbox]:checked", 1],
    ]) assert.equal(await count(selector), expected, selector);
    assert.equal(await frame.locator("progress").evaluate((one) => one.value / one.max), 0.62);
    await frame.getByText("by train").waitFor();
    await eventually(async () => (await asked("ui/notifications/size-changed")).some(({ height }) => height > 900), "its height");
    if (process.env.TOOLCRIB_SHOTS) {
      await page.locator("iframe").evaluate((one) => (one.style.height = "2600px"));
      await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/card-page.png`, fullPage: true });
    }
    // Sections open and close; what was entered stays when the colors change.
    const bremen = frame.getByText("Bremen");
    assert.equal(await bremen.isVisible(), false);
    await frame.getByRole("button", { name: "Show details" }).click();
    await bremen.waitFor();
    await frame.getByRole("button", { name: "Show details" }).click();
    await eventually(async () => !(await bremen.isVisible()), "the section closes");
    await frame.getByLabel("Count").fill("20");
    await page.evaluate(() => window.change({ theme: "dark" }));
    await eventually(() => frame.locator("html").evaluate((one) => one.dataset.theme === "dark"), "the other colors");
    assert.equal(await frame.getByLabel("Count").inputValue(), "20");
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/card-page-dark.png`, fullPage: true });
    // Addresses are for the client to open.
    await frame.getByRole("button", { name: "the shop" }).click();
    await frame.getByRole("button", { name: "Visit" }).click();
    assert.deepEqual(await asked("ui/open-link"), [{ url: "https://shop.example.com/may" }, { url: "https://shop.example.com/" }]);
    // A frame without an origin has no clipboard: the text is there to be taken.
    await frame.getByRole("button", { name: "Copy number" }).click();
    await frame.locator(".note", { hasText: /Copied|A-17/ }).waitFor();
    // A message that the client refuses is said, and can be sent again.
    await page.evaluate(() => (window.host.answer = { isError: true }));
    await frame.getByRole("button", { name: "Reorder" }).click();
    await frame.getByText("It was not sent.").waitFor();
    await page.evaluate(() => (window.host.answer = {}));
    await frame.locator("form select").selectOption("L");
    await frame.getByRole("button", { name: "Order", exact: true }).click();
    const text = (text) => ({ role: "user", content: [{ type: "text", text }] });
    await eventually(async () => (await asked("ui/message")).length === 2, "the form");
    assert.deepEqual(await asked("ui/message"), [text("Order 20 more"), text("Count: 20\nnote: \nday: \nsize: L\nGift: yes\nwho: ")]);
    await eventually(() => frame.getByRole("button", { name: "Reorder" }).isDisabled(), "one answer for a card");
  });
});

test("a hostile card stays text", async () => {
  const bad = "<img src=https://evil.example/i onerror=parent.asked.push(1)><script>parent.asked.push(2)</script>";
  const link = "javascript:parent.asked.push(3)";
  const words = `${bad} [a](${link}) ![b](https://evil.example/b) [c](data:text/html,x) [d](https://u:p@evil.example/) \u202egnp.exe\u200b \u001b[31m`;
  let deep = { type: "text", text: "bottom" };
  for (let level = 0; level < 24; level++) deep = { type: "section", title: "deep", blocks: [deep] };
  const actions = ["callback", "toggle", "open_url", "copy", "constructor", "__proto__"];
  const blocks = [
    { type: "text", text: words },
    { type: "text", text: "**a ".repeat(2000) + "`".repeat(999) + "[".repeat(999) },
    { type: "metric", label: words, value: bad, unit: bad, change: bad, trend: "constructor" },
    { type: "card", title: bad, subtitle: bad, text: words, blocks: [deep], buttons: actions.map((action) => ({ label: bad, action, value: link })) },
    ...["bar", "line", "pie", bad].map((kind) => ({ type: "chart", kind, title: bad, labels: [bad, "\"><b>"], series: [{ name: bad, values: [1e308, -1e308] }, { values: ["x", null, "1 onload=x"] }], unit: bad })),
    { type: "progress", label: bad, value: "x", max: -1 },
    { type: "timeline", items: [{ title: bad, time: bad, text: bad, state: "__proto__" }, null, 7] },
    { type: "alert", level: "x onclick=y", title: bad, text: bad },
    { type: "badge", label: bad, level: "__proto__" },
    { type: "keyvalue", title: bad, items: [{ key: bad, value: { toString: "x" } }] },
    { type: "columns", columns: [{ blocks: "none" }, null, { blocks: [{ type: "html", html: bad }] }] },
    { type: "section", title: bad, id: "\"]<b>", collapsed: "no", blocks: { length: 3 } },
    { type: "table", columns: [bad], rows: [[bad], "x", null] },
    { type: "form", title: bad, submit: bad, fields: [{ name: "onclick", label: bad, kind: "file", value: bad }, { name: "x", kind: "choice", options: [bad] }, { name: "y", kind: "hidden", value: "z" }] },
    { type: "__proto__" }, { type: "constructor", text: bad }, { type: { a: 1 } }, null, 7, bad,
  ];
  await withHost(async ({ page, frame, asked, show }) => {
    await show({ content: [], structuredContent: { blocks, untrusted: "https://evil.example/" } });
    await frame.getByText("Its words come from outside.").waitFor();
    const found = await frame.locator("main").evaluate((main) => {
      const all = [...main.querySelectorAll("*")];
      return {
        odd: all.map((one) => one.localName).filter((name) => ["img", "script", "a", "iframe", "object", "embed", "base", "link", "meta", "style"].includes(name)),
        handlers: all.flatMap((one) => [...one.attributes].map(({ name }) => name)).filter((name) => name.startsWith("on") || name === "href" || name === "src"),
        inputs: all.filter((one) => one.localName === "input").map((one) => one.type),
        text: main.innerText,
        blocks: main.querySelector(".blocks").children.length,
      };
    });
    assert.deepEqual([found.odd, found.handlers], [[], []]);
    assert.equal(found.blocks, blocks.length, "nothing is lost");
    assert.deepEqual([...new Set(found.inputs)], ["text"]);
    for (const shown of [bad, "⟨202E⟩", "⟨200B⟩", "⟨001B⟩", "Image from evil.example"]) assert.ok(found.text.includes(shown), shown);
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/card-page-hostile.png` });
    // Whatever is pressed, no address of another kind is opened, and words from outside are read first.
    for (const one of await frame.locator("main .blocks button:visible").all()) await one.click({ timeout: 2_000 }).catch(() => undefined);
    const opened = await asked("ui/open-link");
    assert.deepEqual(opened.filter(({ url }) => url !== "https://evil.example/i"), []);
    assert.deepEqual(await asked("ui/message"), []);
    await frame.getByText("Send this as your message?").waitFor();
    await frame.getByRole("button", { name: "Cancel" }).click();
    await eventually(async () => (await frame.locator(".note").count()) === 0, "it was not sent");
    // What is no message of the standard changes nothing, and neither does a result that failed.
    await page.evaluate(() => { for (const odd of [null, 7, "x", [], { jsonrpc: "2.0" }, { jsonrpc: "2.0", id: 999 }]) document.querySelector("iframe").contentWindow.postMessage(odd, "*"); });
    await show({ isError: true, content: [{ type: "text", text: bad }, { type: "image", data: "x" }], structuredContent: { blocks } });
    await eventually(async () => (await frame.locator("main").innerText()) === bad, "the text of a failed call");
    assert.equal((await asked("ui/message")).length, 0);
  });
});

test("a card of another Toolcrib is drawn in our page, and its button waits in the composer", async () => {
  const args = JSON.stringify({ blocks: [BLOCKS[1], BLOCKS[13]] });
  const script = `version: 1\nturns:\n  - calls: [{tool: inner__rich_render, args: ${args}}]\n  - say: There it is.\n  - say: Ordered.\n`;
  await withPage(browser, script, async ({ daemon, page }) => {
    const home = path.join(daemon.folder, "inner");
    const program = process.env.TOOLCRIB_BINARY ?? "toolcrib";
    await page.goto(`${daemon.url}/#/servers`);
    await page.getByRole("button", { name: "Add server" }).click();
    const form = page.locator("dialog[open]");
    await form.getByLabel("Name", { exact: true }).fill("inner");
    await form.getByLabel("Command").fill(`env TOOLCRIB_HOME=${home} ${program} mcp serve`);
    await form.getByRole("button", { name: "Preview" }).click();
    await form.getByRole("button", { name: "Add 1" }).click();
    const server = page.locator('[data-server="inner"]');
    await server.getByRole("switch").click();
    await server.locator('[data-state="connected"]').waitFor();
    await daemon.api("POST", "/mcp/servers/inner/accept");
    await eventually(async () => (await daemon.api("GET", "/tools")).items.some((tool) => tool.name === "inner__rich_render" && tool.page && tool.enabled), "the tool with its page");
    await page.goto(`${daemon.url}/#/chat`);
    await ask(page, "Show the orders");
    const waiting = await eventually(async () => (await daemon.api("GET", "/approvals")).items[0], "the question");
    const { nonce } = await daemon.api("GET", `/approvals/${waiting.approval}`);
    await daemon.api("POST", `/approvals/${waiting.approval}`, { decision: "approve", nonce });
    const frame = page.frameLocator(".appframe iframe");
    await frame.locator(".metric b", { hasText: "1,240" }).waitFor();
    await frame.getByRole("button", { name: "Reorder" }).click();
    const suggested = page.getByRole("group", { name: "inner suggests this message" });
    await suggested.getByText("Order 20 more").waitFor();
    assert.equal((await daemon.api("GET", "/runs")).items.length, 1);
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: `${process.env.TOOLCRIB_SHOTS}/card-page-inner.png` });
    await suggested.getByRole("button", { name: "Send as mine" }).click();
    await page.locator(".me", { hasText: "Order 20 more" }).waitFor();
    await page.getByRole("log").getByText("Ordered.").waitFor();
  });
});
