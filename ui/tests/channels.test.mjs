// Chat channels on the page, against a server of the test that speaks Telegram's Bot API.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { looksRight } from "./look.mjs";
import { Daemon, eventually, launch, watched, withPage } from "./support.mjs";
import { telegramServer, TOKEN } from "./telegram-server.mjs";

const SCRIPT = `version: 1\nturns:\n${"  - say: Hello Ann.\n".repeat(20)}`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("a channel is added, a person who asked is allowed and answered, and the channel is removed", async () => {
  const telegram = await telegramServer();
  try {
    await withPage(browser, SCRIPT, async ({ daemon, page }) => {
      await page.goto(`${daemon.url}/#/channels`);
      await page.getByText("No channels.").waitFor();
      await page.getByRole("button", { name: "Add channel" }).click();
      const form = page.locator("dialog[open]");
      const token = form.getByLabel("Token, stored in the vault");
      assert.equal(await token.getAttribute("type"), "password");
      // A token that the service refuses: its words are in the form, and nothing that was typed is lost.
      await token.fill("1:wrong");
      await form.getByLabel("Address of the service").fill(telegram.url);
      await form.getByLabel("Your id at the service").fill("41");
      await form.getByRole("button", { name: "Test and add" }).click();
      await form.getByRole("alert").waitFor();
      assert.equal(await token.inputValue(), "1:wrong");
      assert.equal(await form.getByLabel("Your id at the service").inputValue(), "41");
      assert.deepEqual((await daemon.api("GET", "/channels")).items, []);
      await looksRight(page, "channel-form");
      page.faults.length = 0;
      await token.fill(TOKEN);
      await form.getByRole("button", { name: "Test and add" }).click();
      const card = page.locator('[data-channel="telegram"]');
      await card.locator('[data-state="connected"]').waitFor();
      await card.getByText("crib_bot").waitFor();
      assert.ok(!(await page.content()).includes(TOKEN), "the token is not shown");

      // The name is the person's own: its direction mark is a number, and its tag is text.
      telegram.writes(42, "Hi", "<b>Ann\u202e</b>");
      const asked = card.locator("[data-asked]");
      await asked.getByText("<b>Ann⟨202E⟩</b>").waitFor();
      await looksRight(page, "channels");
      await card.getByRole("button", { name: "Allow 42" }).click();
      await asked.waitFor({ state: "detached" });
      // The daemon reads the list every few seconds; what is written before is not answered.
      await eventually(async () => {
        telegram.writes(42, "Hello");
        await page.waitForTimeout(1_000);
        return telegram.sent.some((one) => one.chat_id === 42 && one.text.includes("Hello Ann."));
      }, "the answer");

      await card.getByRole("button", { name: "Details of the channel telegram" }).click();
      const drawer = page.locator("dialog.drawer");
      await drawer.locator('[data-person="42"]').getByRole("link", { name: "Conversation" }).waitFor();
      await drawer.locator('[data-person="41"]').getByText("You", { exact: true }).waitFor();
      await drawer.locator("[data-log]").getByText("run ended").waitFor();
      await looksRight(page, "channel");
      await drawer.getByRole("button", { name: "Test" }).click();
      await drawer.getByText(/accepts the token of @?crib_bot/).waitFor();
      await drawer.getByLabel("People on the list may decide").check();
      await eventually(async () => (await daemon.api("GET", "/channels/telegram")).may_approve, "the permission");
      // An id that is none stays in its field, with the daemon's words.
      await drawer.getByLabel("Id at the service").fill("not an id");
      await drawer.getByRole("button", { name: "Allow", exact: true }).click();
      await drawer.getByRole("alert").waitFor();
      assert.equal(await drawer.getByLabel("Id at the service").inputValue(), "not an id");
      page.faults.length = 0;
      await drawer.getByLabel("Id at the service").fill("43");
      await drawer.getByRole("button", { name: "Allow", exact: true }).click();
      await drawer.locator('[data-person="43"]').waitFor();
      assert.equal(await drawer.getByLabel("Id at the service").inputValue(), "");
      await drawer.getByRole("button", { name: "Remove 42 from the list" }).click();
      await drawer.locator('[data-person="42"]').waitFor({ state: "detached" });
      await drawer.getByRole("button", { name: "Close" }).click();

      await card.getByRole("switch").click();
      await card.locator('[data-state="off"]').waitFor();
      await card.getByRole("button", { name: "Details of the channel telegram" }).click();
      await drawer.getByRole("button", { name: "Remove channel" }).click();
      await page.locator("dialog.modal[open]").getByRole("button", { name: "Remove channel" }).click();
      await page.getByText("No channels.").waitFor();
    });
  } finally {
    telegram.close();
  }
});

test("a viewer sees the channels and no button that would be refused", async () => {
  const telegram = await telegramServer();
  const daemon = await Daemon.start(SCRIPT);
  const context = await browser.newContext();
  try {
    await daemon.api("POST", "/channels", { kind: "telegram", base_url: telegram.url, token: TOKEN, owner: "41", allow: ["41"] });
    const { token } = await daemon.api("POST", "/tokens", { name: "watcher", roles: ["viewer"] });
    const page = await watched(context);
    await page.goto(daemon.url);
    await page.getByLabel(/token/i).fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector(".app");
    page.faults.length = 0;
    await page.evaluate(() => (location.hash = "#/channels?channel=telegram"));
    const card = page.locator('[data-channel="telegram"]');
    await card.locator('[data-state="on"]').waitFor();
    assert.equal(await page.locator(".main .page button, .main .bar button, dialog[open]").count(), 0);
    await page.evaluate(() => (location.hash = "#/apps"));
    await page.getByText("No apps.").waitFor();
    assert.equal(await page.locator(".main .page button, .main .bar button").count(), 0);
    assert.deepEqual(page.faults, []);
  } finally {
    await context.close();
    await daemon.stop();
    telegram.close();
  }
});
