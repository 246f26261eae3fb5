// Sections of tools, permissions, the backup, and what makes the page installable.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { after, before, test } from "node:test";

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
