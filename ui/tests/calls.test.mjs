// What can be done with a call that is over: made again, taken apart, saved, seen as an image, and a run
// looked at step by step.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { ask, eventually, launch, watched, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const shot = async (page, name) => {
  if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, `${name}.png`) });
};
const script = (...turns) => `version: 1\nturns:\n${turns.map((turn) => `  - ${turn}\n`).join("")}`;
const card = (page, title) => page.locator("article.card", { hasText: title }).first();
const over = (page) => page.locator(".md", { hasText: "Over." }).waitFor();

test("a call is run again from its card and from the history, through the same gates", async () => {
  const turns = script("calls: [{tool: read_file, args: {path: a.txt}}]", "calls: [{tool: write_file, args: {path: b.txt, content: two}}]", "calls: [{tool: delete_file, args: {path: gone.txt}}]", "say: Over.");
  await withPage(browser, turns, async ({ daemon, context, page }) => {
    for (const name of ["a.txt", "gone.txt"]) fs.writeFileSync(path.join(daemon.workspace, name), `the text of ${name}`);
    await ask(page, "Go");
    const question = page.locator(".approval");
    await question.waitFor();
    await page.waitForTimeout(500);
    await question.getByRole("button", { name: "Allow once" }).click();
    await over(page);
    const calls = async (tool) => (await daemon.api("GET", `/calls?tool=${tool}`)).items;
    // One that only reads runs at once, with what is there now.
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "another text");
    const read = page.locator("article.card", { hasText: "a.txt" }).first();
    await read.locator(".head").first().click();
    await read.getByRole("button", { name: "Run again" }).click();
    const again = read.locator("article.card");
    await again.locator('[data-state="succeeded"]').waitFor();
    await again.getByText("another text").waitFor();
    await shot(page, "run-again");
    const rows = await calls("read_file");
    assert.equal(rows.length, 2);
    assert.deepEqual(rows[0].args, rows[1].args);
    assert.deepEqual([rows[0].origin, rows[0].conversation, rows[0].run ?? null], ["rest", rows[1].conversation, null]);
    // One that changes something asks the person first; what policy asks about, the card asks.
    fs.writeFileSync(path.join(daemon.workspace, "gone.txt"), "back");
    await page.goto(`${daemon.url}/#/history?call=${(await calls("delete_file"))[0].call}`);
    const drawer = page.locator("dialog.drawer");
    await drawer.getByRole("button", { name: "Run again" }).click();
    const sure = page.locator("dialog.modal[open]", { hasText: "again with the same arguments?" });
    await sure.getByRole("button", { name: "Run again" }).click();
    const asked = drawer.locator(".approval");
    await asked.waitFor();
    assert.ok(fs.existsSync(path.join(daemon.workspace, "gone.txt")));
    await page.waitForTimeout(500);
    await shot(page, "run-again-asks");
    await asked.getByRole("button", { name: "Allow once" }).click();
    await drawer.locator('article.card [data-state="succeeded"]').waitFor();
    assert.ok(!fs.existsSync(path.join(daemon.workspace, "gone.txt")));
    // Who may not call has no button.
    const { token } = await daemon.api("POST", "/tokens", { name: "looker", roles: ["viewer"] });
    const other = await context.browser().newContext();
    const viewer = await watched(other, { expected: ["401"] });
    await viewer.goto(daemon.url);
    await viewer.getByLabel("Or paste a token").fill(token);
    await viewer.getByRole("button", { name: "Sign in" }).click();
    await viewer.waitForSelector(".app");
    await viewer.goto(`${daemon.url}/#/history?call=${rows[0].call}`);
    await viewer.locator("dialog.drawer").getByText(rows[0].call).first().waitFor();
    assert.equal(await viewer.getByRole("button", { name: "Run again" }).count(), 0);
    assert.deepEqual(viewer.faults, []);
    await other.close();
  });
});

test("calls of a script are inside their script, each with its own result", async () => {
  const code = "first = await read_file(path='a.txt')\\nsecond = await file_info(path='a.txt')\\nprint(len(first.text))";
  await withPage(browser, script(`calls: [{tool: tool_chain, args: {code: "${code}"}}]`, "say: Over."), async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "four words of text");
    await ask(page, "Run it");
    await over(page);
    const [outer] = (await daemon.api("GET", "/calls?tool=tool_chain")).items;
    // Both may have started in the same millisecond.
    const inner = (await daemon.api("GET", `/calls?parent=${outer.call}`)).items.toSorted((a, b) => a.tool.localeCompare(b.tool));
    assert.deepEqual(inner.map((row) => [row.tool, row.parent]), [["file_info", outer.call], ["read_file", outer.call]]);
    const shown = page.locator(`[data-call="${outer.call}"]`);
    await shown.locator(".head").first().click();
    const list = shown.getByRole("region", { name: "Nested calls: 2" });
    await list.getByRole("button").filter({ hasText: /read/i }).first().click();
    await list.getByText("four words of text").waitFor();
    await shot(page, "script-calls");
    // In the history they are marked, and lead to their script and back.
    await page.goto(`${daemon.url}/#/history?call=${inner[1].call}`);
    await page.locator("dialog.drawer").getByRole("link", { name: outer.call }).click();
    await page.locator("dialog.drawer").getByRole("region", { name: "Nested calls: 2" }).waitFor();
    await page.goto(`${daemon.url}/#/history?parent=${outer.call}`);
    await eventually(async () => (await page.locator(".hrow").count()) === 2, "the calls of the script alone");
  });
});

/** A program of the person that answers with this. */
function ownTool(daemon, name, answer) {
  const folder = path.join(daemon.folder, "home/tools", name);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "tool.toml"), `description = "Draws."\ncommand = ["./run"]\nrisk = "safe"\neffect = "pure"\n`);
  fs.writeFileSync(path.join(folder, "run"), `#!/bin/sh\ncat > /dev/null\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`, { mode: 0o755 });
}
/** Waits for the end; a program of the person's own runs without isolation, and a question says so. */
async function allowed(page) {
  const question = page.locator(".approval");
  const first = await Promise.race([question.waitFor().then(() => "asks"), over(page).then(() => "over")]);
  if (first === "over") return;
  await question.locator('[data-sandbox="none"]').waitFor();
  await page.waitForTimeout(500);
  await question.getByRole("button", { name: "Allow once" }).click();
  await over(page);
}
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVQI12P4z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==";
const HOSTILE = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 1"><script>window.hacked = 1</script><text>drawn</text></svg>').toString("base64");

test("images of a result are drawn, and hostile SVG and HTML stay text", async () => {
  await withPage(browser, script("calls: [{tool: draw, args: {}}]", "say: Over."), async ({ daemon, page }) => {
    ownTool(daemon, "draw", { content: [
      { type: "text", text: "Here they are." },
      { type: "image", mime_type: "image/png", data: PIXEL },
      { type: "image", mime_type: "image/svg+xml", data: HOSTILE },
      { type: "image", mime_type: "image/png", data: HOSTILE },
      { type: "html", html: "<img src=x onerror='window.hacked = 1'><b>bold</b>" },
    ] });
    await ask(page, "Draw");
    await allowed(page);
    const shown = page.locator("article.card").first();
    // A result with a card of HTML is open by itself.
    const head = shown.locator(".head").first();
    if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
    const image = shown.locator(".mediaimage img");
    await image.waitFor();
    assert.equal(await image.count(), 1);
    assert.equal(await image.evaluate((one) => one.decode().then(() => one.naturalWidth)), 2);
    await shown.getByText("Shown as text instead of text/html").click();
    await shown.getByText("<b>bold</b>").waitFor();
    await shown.getByText("Shown as text instead of image/svg+xml").click();
    await shown.getByText('onload="window.hacked = 1"').waitFor();
    assert.equal(await shown.locator("svg text").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await shot(page, "images");
  });
});

test("a table of numbers is plotted on demand, a changed file is a diff and can be saved", async () => {
  const turns = script("calls: [{tool: sales, args: {}}]", "calls: [{tool: read_file, args: {path: a.txt}}]", "calls: [{tool: edit_file, args: {path: a.txt, old_text: one, new_text: two}}]", "say: Over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "one\nmore\n");
    ownTool(daemon, "sales", [{ month: "May", sales: 3 }, { month: "June", sales: 5 }]);
    await ask(page, "Go");
    await allowed(page);
    const edited = page.locator("article.card", { hasText: "Edit" }).first();
    await edited.locator(".head").first().click();
    await edited.locator(".diff .del", { hasText: "one" }).waitFor();
    await edited.locator(".diff .add", { hasText: "two" }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), edited.getByRole("button", { name: "Save the file" }).click()]);
    assert.equal(saved.suggestedFilename(), "a.txt");
    assert.equal(fs.readFileSync(await saved.path(), "utf8"), "two\nmore\n");
    const table = page.locator("article.card").first();
    await table.locator(".head").first().click();
    await table.getByRole("cell", { name: "May" }).first().waitFor();
    await table.getByRole("button", { name: "Plot" }).click();
    await eventually(async () => (await table.locator(".cardchart svg rect").count()) === 2, "the bars");
    await shot(page, "plot-and-diff");
  });
});

test("a run is replayed step by step with buttons and keys, and its step is in the address", async () => {
  const turns = script("say: I look.\n    calls: [{tool: read_file, args: {path: a.txt}}, {tool: get_current_time, args: {}}]", "say: Over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "the text of a");
    await ask(page, "What is in it?");
    await over(page);
    const [{ run }] = (await daemon.api("GET", "/runs")).items;
    await page.goto(`${daemon.url}/#/history?run=${run}`);
    await page.getByRole("button", { name: "Replay" }).click();
    const replay = page.getByRole("dialog", { name: "Replay of a run" });
    const at = () => replay.locator("[data-step]").getAttribute("data-step");
    // Said, answered, two calls, their two ends, the last answer.
    await replay.getByText("Step 1 of 7").waitFor();
    await replay.locator(".me", { hasText: "What is in it?" }).waitFor();
    assert.equal(await replay.locator("article.card").count(), 0);
    await replay.getByRole("button", { name: "Next" }).click();
    await replay.locator(".md", { hasText: "I look." }).waitFor();
    await page.keyboard.press("ArrowRight");
    assert.equal(await at(), "3");
    await replay.locator('article.card [data-state="running"]').waitFor();
    await page.keyboard.press("End");
    await replay.locator(".md", { hasText: "Over." }).waitFor();
    assert.equal(await replay.locator('article.card [data-state="succeeded"]').count(), 2);
    await page.keyboard.press("ArrowLeft");
    await eventually(async () => (await at()) === "6", "one step back");
    assert.equal(await replay.locator(".md", { hasText: "Over." }).count(), 0);
    await shot(page, "replay");
    await page.reload();
    await page.getByText("Step 6 of 7").waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.keyboard.press("Home");
    await page.getByText("Step 1 of 7").waitFor();
    await shot(page, "replay-360");
    const edge = await replay.getByRole("button", { name: "Next" }).evaluate((one) => one.getBoundingClientRect().right);
    assert.ok(edge <= 360, `the button ends at ${edge}`);
    await page.keyboard.press("Escape");
    await eventually(async () => !/replay=/.test(page.url()), "it is closed");
  });
});

test("messages are found by their words, and the conversation opens at the one that was found", async () => {
  const talks = Array.from({ length: 30 }, (_, at) => `say: Answer ${at}.`);
  await withPage(browser, script("say: The lighthouse is white.", ...talks), async ({ daemon, page }) => {
    const { conversation } = await daemon.api("POST", "/runs", { text: "What about the harbour?", wait: true });
    for (let at = 0; at < 20; at++) await daemon.api("POST", "/runs", { text: `Question ${at}`, conversation, wait: true });
    await daemon.api("POST", "/runs", { text: "Something else", wait: true });
    await page.reload();
    await page.getByRole("searchbox", { name: "Search conversations" }).first().fill("LIGHTHOUSE white");
    const found = page.getByRole("region", { name: "In messages" });
    const hit = found.getByRole("link", { name: /harbour[^]*The lighthouse is white/ });
    await hit.waitFor();
    assert.equal(await hit.count(), 1);
    await shot(page, "found-messages");
    await hit.click();
    const message = page.locator(".md", { hasText: "The lighthouse is white." });
    await message.waitFor();
    await eventually(() => message.evaluate((one) => { const { top, bottom } = one.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }), "the message is in sight");
    await shot(page, "found-message");
    await page.getByRole("searchbox", { name: "Search conversations" }).first().fill("nowhere to be found");
    await found.getByText("No message contains these words.").waitFor();
  });
});

test("a question shows the rule that asked, the isolation, and what always would have matched", async () => {
  const turns = script("calls: [{tool: execute_shell_command, args: {command: echo one}}]", "calls: [{tool: execute_shell_command, args: {command: echo two}}]", "say: Over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    // Where programs run without isolation, the shell is off.
    await daemon.api("PUT", "/switches/tool:execute_shell_command", { state: "on" });
    const made = await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(echo:*)" }]);
    assert.ok(!made.code, JSON.stringify(made));
    await ask(page, "Go");
    const question = page.locator(".approval");
    await question.locator("[data-rule]", { hasText: "ask Bash(echo:*)" }).waitFor();
    assert.match(await question.locator("[data-rule]").innerText(), /:\d+/);
    await question.locator("[data-sandbox]").waitFor();
    assert.equal(await question.getByText("Decided before").count(), 0);
    await page.waitForTimeout(500);
    await question.getByRole("button", { name: "Allow once" }).click();
    await page.locator(".approval", { hasText: "echo two" }).waitFor();
    await page.locator(".approval").getByText("Decided before").waitFor();
    await shot(page, "approval");
    await page.waitForTimeout(500);
    await page.locator(".approval").getByRole("button", { name: "Allow for longer" }).click();
    await page.getByRole("menuitem", { name: "Always…" }).click();
    const dialog = page.locator("dialog[open]");
    await dialog.locator('[data-matched="0"]').waitFor();
    await dialog.getByRole("textbox", { name: "command" }).fill("echo *");
    await dialog.locator('[data-matched="1"]').waitFor();
    await dialog.getByText("echo one").waitFor();
    await shot(page, "approval-always");
    // Patterns that this very call does not have are no approval of it.
    await dialog.getByRole("textbox", { name: "command" }).fill("ls *");
    await dialog.getByRole("alert").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Allow always" }).isDisabled());
    await dialog.getByRole("button", { name: "Cancel" }).click();
  }, { expected: ["422"] });
});

test("a card says the cause without the advice to the model, and names a rule once", async () => {
  const turns = script("calls: [{tool: read_file, args: {pat: a.txt}}]", "calls: [{tool: delete_file, args: {path: a.txt}}]", "say: Over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "one");
    await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "delete_file" }]);
    await ask(page, "Go");
    const read = card(page, "Read file");
    await read.locator("[data-said]").waitFor();
    const said = await read.locator("[data-said]").innerText();
    assert.match(said, /name it "path"/);
    assert.ok(!said.includes("call the tool again"), said);
    const { call } = (await daemon.api("GET", "/calls?tool=read_file")).items[0];
    const question = page.locator(".approval");
    await question.locator("[data-rule]").waitFor();
    assert.equal((await question.innerText()).match(/ask delete_file/g).length, 1);
    await page.waitForTimeout(500);
    await question.getByRole("button", { name: "Allow once" }).click();
    await over(page);
    const deleted = card(page, "Delete file");
    if ((await deleted.locator(".head").getAttribute("aria-expanded")) === "false") await deleted.locator(".head").click();
    await deleted.locator(".cardfoot a").first().waitFor();
    const foot = await deleted.locator(".cardfoot").innerText();
    assert.ok((foot.match(/rules\.toml/g) ?? []).length <= 1, foot);
    await page.goto(`${daemon.url}/#/history?call=${call}`);
    const drawer = page.locator("dialog.drawer");
    const result = await drawer.locator("[data-said]").innerText();
    assert.ok(result.includes('name it "path"') && !result.includes("call the tool again"), result);
  });
});
