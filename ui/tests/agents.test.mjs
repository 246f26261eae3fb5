// Agents and skills: the form and the text of a file are one thing, faults stand at their fields, and a
// skill that is off reaches no model.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - calls: [{tool: load_skill, args: {name: poems}}]
  - say: Over.
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const shot = async (page, name) => process.env.TOOLCRIB_SHOTS && page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, `${name}.png`), fullPage: true });

test("an agent is made and changed in the form, and its text keeps what is not changed", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.setViewportSize({ width: 1440, height: 1000 });
    await page.goto(`${daemon.url}/#/agents`);
    await page.getByRole("button", { name: "New agent" }).click();
    await page.locator("dialog[open]").getByLabel("Name").fill("reviewer");
    await page.locator("dialog[open]").getByRole("button", { name: "Save" }).click();
    const text = page.getByRole("textbox", { name: "File", exact: true });
    await text.waitFor();
    await page.getByLabel("Title").fill("Strict reviewer");
    await page.getByLabel("Prompt").fill("You review.\nBe strict.");
    await page.getByLabel("Temperature").fill("0.2");
    await page.getByLabel("Time, such as 15m").fill("15m");
    await page.getByRole("button", { name: "Chosen ones" }).click();
    await page.getByLabel("All of files").uncheck();
    await page.getByLabel("Find tools").fill("read_file");
    await page.locator('[data-pick="read_file"]').getByRole("checkbox").check();
    await eventually(async () => (await text.inputValue()).includes('"read_file"'), "the list in the text");
    const written = await text.inputValue();
    assert.match(written, /title: "Strict reviewer"/);
    assert.match(written, /temperature: 0\.2/);
    assert.match(written, /limits: \{"time":"15m"\}/);
    assert.match(written, /# mode: ask-risky/, "comments of the template stay");
    assert.match(written, /You review\.\nBe strict\.\n$/);
    // What is risky or needs a permission is marked.
    await page.getByLabel("Find tools").fill("write_file");
    assert.match(await page.locator('[data-pick="write_file"]').innerText(), /fs_write/);
    await shot(page, "agents-form");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    const saved = await daemon.api("GET", "/agents/reviewer");
    assert.equal(saved.text, written);
    assert.equal(saved.title, "Strict reviewer");
    assert.ok(saved.offered.includes("read_file") && !saved.offered.includes("write_file"));
    // The text is the other view of the same.
    await text.fill(written.replace("temperature: 0.2", "temperature: 1.5"));
    await eventually(async () => (await page.getByLabel("Temperature").inputValue()) === "1.5", "the field");
  });
});

test("each fault stands at its field, and nothing typed is lost", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("POST", "/agents", { name: "reviewer" });
    await page.goto(`${daemon.url}/#/agents/reviewer`);
    await page.getByLabel("Temperature").fill("9");
    await page.getByLabel("Model", { exact: true }).fill("nonsense");
    await page.getByLabel("Rounds, or unlimited").fill("900");
    const fault = (label) => page.locator("label", { has: page.getByLabel(label, { exact: true }) }).or(page.locator("label", { hasText: label })).locator(".bad").first();
    await eventually(async () => /from 0 to 2/.test(await fault("Temperature").innerText()), "the fault of the temperature");
    assert.match(await fault("Rounds, or unlimited").innerText(), /1 to 100/);
    assert.match(await page.locator("[data-faults]").getAttribute("data-faults"), /3/);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute("aria-invalid") === "true"), "the focus at the first fault");
    await shot(page, "agents-faults");
    // Another view, and back: it is still there.
    await page.goto(`${daemon.url}/#/usage`);
    await page.goto(`${daemon.url}/#/agents/reviewer`);
    await eventually(async () => (await page.getByLabel("Temperature").inputValue()) === "9", "what was typed");
    assert.ok(!(await daemon.api("GET", "/agents/reviewer")).text.includes("nonsense"), "nothing was written");
    // A text that cannot be read stays as it is typed, and the form waits.
    const text = page.getByRole("textbox", { name: "File", exact: true });
    if (!(await text.isVisible())) await page.getByRole("button", { name: "Text", exact: true }).click();
    await text.fill("---\ntools: [read_file\n---\nP");
    await page.getByText("The text is invalid").or(page.locator("[data-faults='1']")).first().waitFor();
    assert.equal(await text.inputValue(), "---\ntools: [read_file\n---\nP");
    // One that another one has changed meanwhile is not overwritten without a word.
    await text.fill("---\ntitle: Mine\n---\n\nMine.\n");
    await page.locator("[data-faults]").waitFor({ state: "detached" });
    const { url, token } = daemon;
    const old = await fetch(`${url}/api/v1/agents/reviewer`, { headers: { authorization: `Bearer ${token}` } });
    await fetch(`${url}/api/v1/agents/reviewer`, { method: "PUT", headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "if-match": old.headers.get("etag") }, body: JSON.stringify({ text: "---\ntitle: Theirs\n---\n\nTheirs.\n" }) });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("read it again").waitFor();
    page.faults = page.faults.filter((one) => !/\b412\b/.test(one));
    assert.equal(await text.inputValue(), "---\ntitle: Mine\n---\n\nMine.\n");
    await page.getByRole("button", { name: "Replace it with mine" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    assert.match((await daemon.api("GET", "/agents/reviewer")).text, /Mine/);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await eventually(async () => !(await daemon.api("GET", "/agents")).items.some((one) => one.name === "reviewer"), "the deletion");
  });
});

test("a skill is read, and one that is off reaches no model", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    const folder = path.join(daemon.folder, "home", "skills", "poems");
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "SKILL.md"), "---\nname: poems\ndescription: Writes poems.\n---\n\nEvery line has **five** words.\n");
    await daemon.api("POST", "/settings/reload");
    await daemon.api("PUT", "/agents/poet", { text: "---\nskills: [poems]\n---\n\nP\n" });
    await page.goto(`${daemon.url}/#/agents/skill:poems`);
    await page.locator(".md strong", { hasText: "five" }).waitFor();
    await page.getByRole("link", { name: "Poet", exact: true }).waitFor();
    await shot(page, "skill");
    await page.getByRole("switch", { name: "Use of the skill poems" }).click();
    await page.locator('[data-skill="off"]').waitFor();
    const told = await daemon.api("POST", "/runs", { text: "Write", wait: true });
    const calls = (await daemon.api("GET", "/calls?tool=load_skill")).items;
    const shown = await daemon.api("GET", `/calls/${calls[0].call}`);
    assert.match(JSON.stringify(shown), /switched off/);
    assert.ok(told.run);
    // An agent that begins with it works without it.
    const run = await daemon.api("POST", "/runs", { text: "Write", agent: "poet", wait: true });
    assert.notEqual(run.state, "failed", JSON.stringify(run));
    assert.ok(!JSON.stringify(run.skills ?? []).includes("poems"));
    await page.getByRole("switch", { name: "Use of the skill poems" }).click();
    await page.locator('[data-skill="on"]').waitFor();
  });
});
