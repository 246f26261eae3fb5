// Sections of tools, permissions, the backup, and what makes the page installable.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { after, before, test } from "node:test";

import { looksRight } from "./look.mjs";
import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = "version: 1\nturns:\n  - say: Nothing.\n";
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("a section of tools folds and stays folded, and its tools keep their switches", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("PUT", "/switches/tool:write_file", { state: "ask" });
    await page.goto(`${daemon.url}/#/tools`);
    const files = page.getByRole("region", { name: "files", exact: true });
    await files.locator('[data-tool="read_file"]').waitFor();
    await files.getByRole("switch", { name: "Switch files" }).click();
    await files.getByText("Each keeps its own switch").waitFor();
    const asks = files.locator('[data-tool="write_file"]').getByRole("radio", { name: "Ask" });
    assert.equal(await asks.getAttribute("aria-checked"), "true");
    await files.getByRole("switch", { name: "Switch files" }).click();
    await eventually(async () => (await daemon.api("GET", "/tools/write_file")).state === "ask", "its own switch");
    const fold = files.getByRole("button", { name: /^files/ });
    await fold.click();
    assert.equal(await fold.getAttribute("aria-expanded"), "false");
    assert.equal(await files.locator("[data-tool]").count(), 0);
    await page.reload();
    await fold.waitFor();
    assert.equal(await fold.getAttribute("aria-expanded"), "false", "it is remembered");
    // A search looks into it.
    await page.locator("[data-search]").fill("write_file");
    await files.locator('[data-tool="write_file"]').waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "tools-sections.png") });
  });
});

test("permissions and what asking means are set, and a backup is saved", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/settings`);
    const section = page.getByRole("region", { name: "Permissions" });
    await section.locator('[data-permission="network"] select').selectOption("denied");
    await eventually(async () => (await daemon.api("GET", "/settings")).items.find((one) => one.key === "permissions.network")?.value === "denied", "the permission");
    await section.getByRole("switch", { name: "Calls of external agents" }).click();
    await section.getByText("Waits in the inbox.").waitFor();
    if (process.env.TOOLCRIB_SHOTS) await section.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "permissions.png") });
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save a backup" }).click()]);
    const tar = zlib.gunzipSync(fs.readFileSync(await saved.path()));
    assert.ok(tar.includes("config/config.toml"), "the configuration is in it");
    assert.ok(!tar.includes(daemon.token), "no token of the machine is");
  });
});

test("the page can be installed: its manifest is sound and has real icons", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, context, page }) => {
    const session = await context.newCDPSession(page);
    await page.goto(`${daemon.url}/`);
    await page.waitForSelector(".app");
    const { errors, data } = await session.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
    const manifest = JSON.parse(data);
    const sizes = await page.evaluate(async (icons) => {
      const all = [];
      for (const { src, sizes, type } of icons.filter((icon) => icon.type === "image/png")) {
        const image = new Image();
        image.src = src;
        await image.decode();
        all.push([sizes, type, `${image.naturalWidth}x${image.naturalHeight}`]);
      }
      return all;
    }, manifest.icons);
    assert.deepEqual(sizes.map(([said]) => said), ["192x192", "512x512", "512x512"]);
    for (const [said, , real] of sizes) assert.equal(real, said);
    assert.ok(manifest.icons.some((icon) => icon.purpose === "maskable"));
    const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
    assert.deepEqual(installabilityErrors.filter((one) => one.errorId !== "in-incognito"), []);
    assert.equal(await page.evaluate(async () => (await navigator.serviceWorker?.getRegistrations())?.length ?? 0), 0, "nothing is cached outside of the browser's own cache");
  });
});

const TWO_CALLS = `version: 1
turns:
  - calls:
      - {tool: list_dir, args: {}}
      - {tool: read_file, args: {path: missing.txt}}
  - say: Over.
`;

test("a tool's details say its state, its figures, its last failure, and every rule that names it", async () => {
  await withPage(browser, TWO_CALLS, async ({ daemon, page }) => {
    await daemon.api("POST", "/runs", { text: "Look", wait: true });
    const rules = ["Read(./.env)", "file_manager.read", "read_*", "Bash(git push:*)", "list_dir"];
    const added = await daemon.api("POST", "/rules/own", rules.map((rule) => ({ effect: "ask", rule })));
    assert.equal(added.rules?.length, rules.length, JSON.stringify(added));
    await page.goto(`${daemon.url}/#/tools?tool=read_file`);
    const drawer = page.locator(".drawer");
    const figures = drawer.locator("[data-figures]");
    await figures.waitFor();
    assert.match(await figures.innerText(), /Figures of 1 call\n[\s\S]*Failed · 1[\s\S]*half within [\d.,]+ (µs|ms|s)[\s\S]*Last failure\s+File not found: missing\.txt/);
    const said = await drawer.innerText();
    for (const part of [/System/, /\d+ tokens/, /Read files/, /up to 3 attempts/, /file_manager\.read/]) assert.match(said, part);
    // A rule for shell commands is none of a tool that only reads.
    const named = await drawer.locator("[data-rule]").evaluateAll((all) => all.map((one) => one.dataset.rule));
    assert.deepEqual(named, ["Read(./.env)", "file_manager.read", "read_*"]);
    await looksRight(page, "tool-detail");
    // The switch is here, too, and other pages see it.
    await drawer.getByRole("radio", { name: "Ask", exact: true }).click();
    await eventually(async () => (await daemon.api("GET", "/tools/read_file")).own_state === "ask", "its switch");
    await figures.getByRole("link", { name: "Open in history" }).click();
    await page.locator(".drawer .stagelist").waitFor();
    await page.goto(`${daemon.url}/#/tools?tool=execute_shell_command`);
    await drawer.locator('[data-rule="Bash(git push:*)"]').waitFor();
    // Why it cannot be used is said with its state.
    await page.goto(`${daemon.url}/#/tools?tool=web_search`);
    await drawer.locator('[data-status="available"]').waitFor();
    await looksRight(page, "tool-detail-setup");
  });
});

test("the history is filtered by agent and by operation, from its own controls", async () => {
  await withPage(browser, TWO_CALLS, async ({ daemon, page }) => {
    await daemon.api("POST", "/agents", { name: "helper", from: "general-assistant" });
    await daemon.api("POST", "/runs", { text: "Look", wait: true });
    await daemon.api("POST", "/runs", { text: "Look", agent: "helper", wait: true });
    for (const action of ["add", "view"]) await daemon.api("POST", "/calls", { tool: "list", arguments: { action, name: "x", ...(action === "add" ? { items: ["a"] } : {}) } });
    await page.goto(`${daemon.url}/#/history`);
    const rows = page.locator(".hrow");
    await eventually(async () => (await rows.count()) >= 4, "the calls");
    await page.getByLabel("Agent", { exact: true }).selectOption("helper");
    await eventually(async () => (await rows.count()) === 2, "the calls of the agent");
    assert.match(page.url(), /agent=helper/);
    await looksRight(page, "history-agent");
    await page.getByLabel("Agent", { exact: true }).selectOption("");
    await page.locator("[data-search]").fill("read_file");
    await page.locator("[data-search]").press("Enter");
    await eventually(async () => (await rows.count()) === 2, "the calls of the tool");
    await page.locator("[data-search]").fill("list.add");
    await page.locator("[data-search]").press("Enter");
    await eventually(async () => (await rows.count()) === 1, "the calls of the operation");
    assert.match(page.url(), /operation=list\.add/);
    await page.reload();
    await eventually(async () => (await page.locator("[data-search]").inputValue()) === "list.add", "the operation of the address");
  });
});
