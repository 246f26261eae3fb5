// Messages that wait for the end of a run, and runs of a conversation that began elsewhere.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { looksRight } from "./look.mjs";
import { ask, eventually, launch, watched, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const said = (page, text) => page.locator(".md", { hasText: text });
const send = async (page, text) => {
  await page.fill("[data-composer]", text);
  await page.press("[data-composer]", "Enter");
};
const script = (...turns) => `version: 1\nturns:\n${turns.map((turn) => `  - ${turn}\n`).join("")}`;
const ended = (daemon, count) =>
  eventually(async () => (await daemon.api("GET", "/runs?state=ended")).items.length === count, `${count} ended runs`);

test("a queued message is sent although another conversation was opened before the run ended", async () => {
  const turns = script("{delay_ms: 2500, say: First over.}", "say: Second over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    await ask(page, "one");
    const { hash } = new URL(page.url());
    await send(page, "two");
    await page.locator(".queued").waitFor();
    await page.evaluate(() => (location.hash = "#/chat"));
    await ended(daemon, 1);
    await page.evaluate((to) => (location.hash = to), hash);
    await said(page, "Second over.").waitFor();
    assert.equal(await page.locator(".queued").count(), 0);
    assert.deepEqual(await page.locator(".me").allInnerTexts(), ["one", "two"]);
  });
});

test("a queued message is sent after a reload that came after the end of the run", async () => {
  const turns = script("{delay_ms: 2500, say: First over.}", "say: Second over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    await ask(page, "one");
    const url = page.url();
    await send(page, "two");
    await page.locator(".queued").waitFor();
    await page.goto("about:blank");
    await ended(daemon, 1);
    await page.goto(url);
    await said(page, "Second over.").waitFor();
    assert.equal(await page.locator(".queued").count(), 0);
  });
});

test("messages that wait say their place in the queue, which moves up when one is withdrawn", async () => {
  const turns = script("{delay_ms: 25000, say: First over.}");
  await withPage(browser, turns, async ({ page }) => {
    await ask(page, "one");
    await send(page, "two");
    const queued = page.locator(".queued");
    await queued.waitFor();
    // One alone is simply the next.
    assert.equal(await page.locator("[data-place]").count(), 0);
    for (const text of ["three", "four is a longer message that does not fit into its line, however wide it is"]) await send(page, text);
    await queued.nth(2).waitFor();
    const places = () => page.locator("[data-place]").allInnerTexts();
    assert.deepEqual(await places(), ["1st in the queue", "2nd in the queue", "3rd in the queue"]);
    await looksRight(page, "queue");
    await queued.filter({ hasText: "two" }).getByRole("button", { name: "Withdraw" }).click();
    assert.deepEqual(await places(), ["1st in the queue", "2nd in the queue"]);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
  });
});

test("a stopped run leaves what was queued to the person", async () => {
  const turns = script("{delay_ms: 8000, say: First over.}", "say: Second over.");
  await withPage(browser, turns, async ({ daemon, page }) => {
    await ask(page, "one");
    await send(page, "two");
    const queued = page.locator(".queued");
    await queued.waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    const button = queued.getByRole("button", { name: "Send", exact: true });
    await button.waitFor();
    // Neither the end of the run nor a reload sends it.
    await page.reload();
    await button.waitFor();
    await page.waitForTimeout(700);
    assert.equal((await daemon.api("GET", "/runs")).items.length, 1);
    await button.click();
    await page.locator(".me", { hasText: "two" }).waitFor();
    await said(page, "over.").waitFor();
    assert.equal(await queued.count(), 0);
  });
});

test("a second tab shows each run that the first one begins", async () => {
  const turns = script("say: A0.", "say: A1.", "say: A2.", "say: A3.");
  await withPage(browser, turns, async ({ context, page }) => {
    await ask(page, "zero");
    await said(page, "A0.").waitFor();
    const second = await watched(context);
    await second.goto(page.url());
    await said(second, "A0.").waitFor();
    for (const [number, text] of ["one", "two", "three"].entries()) {
      await send(second, text);
      await said(second, `A${number + 1}.`).waitFor();
      await said(page, `A${number + 1}.`).waitFor();
    }
    // The text, not what is drawn: runs that are out of sight are not.
    assert.deepEqual(await page.locator(".me").allTextContents(), ["zero", "one", "two", "three"]);
    assert.deepEqual(second.faults, []);
  });
});

test("a run that began and ended while the page was offline is shown when it is back", async () => {
  const expected = ["ERR_INTERNET_DISCONNECTED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION"];
  await withPage(browser, script("say: A0.", "say: A1."), async ({ daemon, context, page }) => {
    await ask(page, "zero");
    await said(page, "A0.").waitFor();
    const conversation = page.url().split("/").pop();
    // Chromium keeps a stream open while it is offline; the end of the daemon cuts it.
    await context.setOffline(true);
    await daemon.kill();
    await daemon.run();
    await page.getByText("Not connected.").first().waitFor();
    await daemon.api("POST", "/runs", { text: "while away", conversation, wait: true });
    await context.setOffline(false);
    await page.locator(".me", { hasText: "while away" }).waitFor();
    await said(page, "A1.").waitFor();
  }, { expected });
});

test("the agent chosen in one conversation is not chosen in another", async () => {
  await withPage(browser, script("say: A0."), async ({ daemon, page }) => {
    await daemon.api("POST", "/agents", { name: "helper", from: "general-assistant" });
    const old = await daemon.api("POST", "/runs", { text: "first", wait: true });
    await page.reload();
    const chosen = page.getByRole("combobox", { name: "Agent" });
    await chosen.selectOption("helper");
    await ask(page, "with the helper");
    await said(page, "A0.").waitFor();
    assert.equal(await chosen.inputValue(), "helper");
    await page.evaluate((to) => (location.hash = `#/chat/${to}`), old.conversation);
    await page.locator(".me", { hasText: "first" }).waitFor();
    assert.equal(await chosen.inputValue(), old.agent);
    assert.notEqual(old.agent, "helper");
  });
});
