// Drafts: listed, read, changed, sent with what exactly leaves shown first, discarded.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = "version: 1\nturns:\n  - say: Nothing.\n";
/** Nothing listens at port 1, so nothing leaves. */
const ACCOUNT = `[[account]]
id = "ann"
address = "ann@example.org"
own_network = true
imap = { host = "127.0.0.1", port = 1 }
smtp = { host = "127.0.0.1", port = 1, security = "tls" }
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("a draft is read, changed, sent and discarded", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.folder, "home", "mail.toml"), ACCOUNT);
    await daemon.api("PUT", "/secrets/mail-ann", { value: "not a password" });
    await daemon.api("POST", "/settings/reload");
    const args = { to: "bob@example.net", subject: "The <b>offer</b>", body: "Dear Bob,\nyes." };
    const made = await daemon.api("POST", "/calls", { tool: "compose_email", arguments: args });
    assert.equal(made.status, "succeeded", JSON.stringify(made));
    await page.goto(`${daemon.url}/#/drafts`);
    await page.reload();
    const row = page.locator("[data-draft]");
    await row.waitFor();
    await page.locator('.nav a[href="#/drafts"] .badge', { hasText: "1" }).waitFor();
    await row.click();
    await page.locator(".letter", { hasText: "Dear Bob" }).waitFor();
    await eventually(async () => (await page.locator('.nav a[href="#/drafts"] .badge').count()) === 0, "it was read");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text").fill("Dear Bob,\nno.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".letter", { hasText: "no." }).waitFor();
    const [draft] = (await daemon.api("GET", "/drafts")).items;
    assert.equal(draft.body, "Dear Bob,\nno.");
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "draft.png") });
    // What leaves is shown before it leaves; one that was changed since does not.
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const dialog = page.locator("dialog[open]");
    assert.match(await dialog.locator("[data-leaves]").innerText(), /ann[\s\S]*bob@example\.net[\s\S]*The <b>offer<\/b>[\s\S]*no\./);
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "draft-send.png") });
    await daemon.api("PUT", `/drafts/${draft.draft}`, { version: draft.version, body: "Changed." });
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".problem").waitFor();
    page.faults = page.faults.filter((one) => !/\b412\b/.test(one));
    assert.equal((await daemon.api("GET", "/drafts")).items[0].status, "draft");
    await page.locator(".letter", { hasText: "Changed." }).waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator('[data-state="failed"]').waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await dialog.getByRole("button", { name: "Discard" }).click();
    await page.locator('[data-state="discarded"]').waitFor();
    await page.goto(`${daemon.url}/#/drafts`);
    await page.getByText("No drafts.").waitFor();
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.locator("[data-draft]").waitFor();
  });
});
