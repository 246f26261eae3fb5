// A deleted conversation: its undo, the list of those that can be restored, and the end of one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, eventually, launch, withPage } from "./support.mjs";

const SCRIPT = "version: 1\nturns:\n  - say: Pitch it behind the hedge.\n  - say: Two pegs are missing.\n";
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const titles = async (daemon, deleted) => (await daemon.api("GET", `/conversations?deleted=${deleted}`)).items.map((row) => row.title);

test("a deleted conversation comes back by its undo, by a key, or from the list", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await ask(page, "Where does the tent go?");
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    const chat = page.url();
    const remove = () => page.getByRole("button", { name: "Delete conversation" }).click();
    const bar = page.locator(".undobar");
    await remove();
    await bar.getByText("Deleted “Where does the tent go?”.").waitFor();
    assert.deepEqual([await titles(daemon, false), await titles(daemon, true)], [[], ["Where does the tent go?"]]);
    assert.match(page.url(), /#\/chat$/);
    await bar.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    assert.equal(page.url(), chat);
    await bar.getByText("Deleted").waitFor({ state: "detached" });
    assert.equal((await titles(daemon, false)).length, 1);
    // By the key, also from the empty composer.
    await remove();
    await bar.getByText("Deleted").waitFor();
    await page.locator("[data-composer]").focus();
    await page.keyboard.press("Control+z");
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    // Later, from the list.
    await remove();
    await bar.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Deleted conversations" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("[data-deleted]").getByRole("button", { name: "Restore" }).click();
    await dialog.getByText("Restored “Where does the tent go?”.").waitFor();
    await dialog.getByText("No deleted conversations.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.locator(".convs a", { hasText: "Where does the tent go?" }).first().click();
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    // It goes on where it was.
    await page.fill("[data-composer]", "And now?");
    await page.press("[data-composer]", "Enter");
    await page.getByRole("log").getByText("Two pegs are missing.").waitFor();
  });
});

test("a conversation that is deleted forever is asked about and gone", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await ask(page, "Where does the tent go?");
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    await page.getByRole("button", { name: "More of this conversation" }).click();
    await page.getByRole("button", { name: "Delete conversation" }).click();
    await page.locator(".undobar").getByText("Deleted").waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
    await page.getByRole("button", { name: "Conversations", exact: true }).click();
    await page.getByRole("button", { name: "Deleted conversations" }).click();
    await page.getByRole("button", { name: "Delete “Where does the tent go?” forever" }).click();
    await page.getByText("You cannot undo this.").waitFor();
    assert.equal((await titles(daemon, true)).length, 1, "it is asked first");
    await page.getByRole("button", { name: "Delete forever", exact: true }).last().click();
    await page.getByText("No deleted conversations.").waitFor();
    assert.deepEqual(await titles(daemon, true), []);
  });
});

test("the undo leaves by itself, but not while it is used", async () => {
  await withPage(browser, SCRIPT, async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.clock.install();
    await ask(page, "Where does the tent go?");
    await page.getByRole("log").getByText("behind the hedge").waitFor();
    await page.getByRole("button", { name: "Delete conversation" }).click();
    const bar = page.locator(".undobar");
    await bar.getByText("Deleted").waitFor();
    await bar.getByRole("button", { name: "Undo" }).focus();
    await page.clock.fastForward(30_000);
    assert.equal(await bar.getByText("Deleted").count(), 1);
    await page.locator("[data-composer]").focus();
    await page.clock.fastForward(11_000);
    await eventually(async () => (await bar.getByText("Deleted").count()) === 0, "its end");
  });
});
