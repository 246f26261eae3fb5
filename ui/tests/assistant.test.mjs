// Lists, documents, goals, the heartbeat and the person's part of the prompt on the page, against the
// real daemon.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { eventually, launch, watched, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - say: "The rent is **900 euros**."
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const items = async (daemon, name) => (await daemon.api("GET", `/lists/${encodeURIComponent(name)}`)).items.map((one) => (one.checked ? `x ${one.text}` : one.text));

test("a list is made, changed item by item, renamed, deleted and brought back", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/lists`);
    await page.getByText("No lists yet").waitFor();
    await page.getByRole("button", { name: "New list" }).click();
    await page.locator("dialog[open]").getByLabel("Name").fill("Week end / trip");
    await page.locator("dialog[open]").getByRole("button", { name: "Save" }).click();
    const name = "Week end / trip";
    await page.getByRole("heading", { name }).waitFor();
    for (const one of ["tent", "<b>lamp</b>"]) {
      await page.getByLabel("New item").fill(one);
      await page.keyboard.press("Enter");
      await page.locator("[data-item]", { hasText: one }).waitFor();
    }
    assert.deepEqual(await items(daemon, name), ["tent", "<b>lamp</b>"]);
    assert.equal(await page.locator("[data-item] b").count(), 0, "a text is no markup");
    await page.getByLabel("tent", { exact: true }).check();
    await eventually(async () => (await items(daemon, name))[0] === "x tent", "the check");
    await page.getByRole("button", { name: "Remove <b>lamp</b>" }).click();
    await eventually(async () => (await items(daemon, name)).length === 1, "the removal");
    await page.getByRole("button", { name: "Undo the last change" }).click();
    await page.locator("[data-item]", { hasText: "lamp" }).waitFor();
    // What a model adds meanwhile appears by itself.
    await daemon.api("POST", `/lists/${encodeURIComponent(name)}`, { action: "add", items: ["map"] });
    await page.locator("[data-item]", { hasText: "map" }).waitFor();
    await page.getByText("Changes", { exact: true }).click();
    await page.locator("details li").first().waitFor();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.locator("dialog[open]").getByLabel("Name").fill("Trip");
    await page.locator("dialog[open]").getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Trip", exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete Trip" }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No lists yet").waitFor();
    await page.getByRole("button", { name: "Undo the last change" }).click();
    await page.locator('[data-list="Trip"]').click();
    await page.locator("[data-item]", { hasText: "map" }).waitFor();
  });
});

test("a document is put in, found, read, deleted and restored", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/documents`);
    await page.getByText("No documents yet").waitFor();
    const filler = Array.from({ length: 300 }, (_, at) => `Paragraph ${at}: nothing of importance is said here.`).join("\n\n");
    const file = { name: "contract.md", mimeType: "text/markdown", buffer: Buffer.from(`# Contract\n\n${filler}\n\nThe rent is due on the third day of each month.\n`) };
    await page.getByLabel("Add files").last().setInputFiles([file]);
    await page.locator('[data-document="contract.md"]').waitFor();
    await eventually(async () => (await daemon.api("GET", "/documents")).items[0]?.status === "ready", "the document is read");
    await page.getByLabel("Search in documents").fill("when is the rent due");
    await page.locator("[data-passage]", { hasText: "third day" }).first().waitFor();
    await page.locator("[data-passage]", { hasText: "third day" }).first().click();
    await page.getByText("Paragraph 0:").waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await eventually(async () => (await page.locator("pre.quote").count()) === 2, "the next part");
    await page.getByRole("button", { name: "Delete contract.md" }).click();
    await page.getByText("Deleted contract.md. You can").waitFor();
    await page.getByLabel("Search in documents").fill("");
    await page.getByText("No documents yet").waitFor();
    await page.getByRole("button", { name: "Deleted", exact: true }).click();
    await page.locator('[data-document="contract.md"]').click();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("Restored contract.md.").waitFor();
    assert.equal((await daemon.api("GET", "/documents")).items.length, 1);
    // A file without text is refused, and the page says why.
    await page.getByRole("button", { name: "Present" }).click();
    await page.getByLabel("Add files").last().setInputFiles([{ name: "x.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2, 255, 0]) }]);
    await page.getByRole("alert").waitFor();
    page.faults = page.faults.filter((fault) => !/\b4(00|15|22)\b/.test(fault));
  });
});

test("a goal is started, runs, and shows its result", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/automation?tab=goals`);
    await page.getByText("No goals.").waitFor();
    await page.getByRole("button", { name: "New goal" }).click();
    const form = page.locator("dialog[open]");
    await form.getByLabel("What to achieve").fill("Find out what the rent is.");
    await form.getByLabel("Maximum rounds").fill("5");
    await form.getByRole("button", { name: "Start" }).click();
    const card = page.locator("[data-goal]", { hasText: "Find out" });
    await card.locator('[data-state="done"]').waitFor();
    await card.getByText("Result").click();
    await card.locator("strong", { hasText: "900 euros" }).waitFor();
    assert.match(await card.innerText(), /5 rounds/);
    await card.getByRole("link", { name: "Open the chat" }).waitFor();
    assert.equal((await daemon.api("GET", "/goals")).items[0].status, "done");
  });
});

test("the heartbeat is switched, changed and run", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/automation?tab=heartbeat`);
    const knob = page.getByRole("switch", { name: "Heartbeat" });
    await knob.waitFor();
    const before = (await daemon.api("GET", "/heartbeat")).enabled;
    await knob.click();
    await eventually(async () => (await daemon.api("GET", "/heartbeat")).enabled === !before, "the switch");
    if (before) await knob.click();
    await page.locator('[data-heartbeat="on"]').waitFor();
    await page.getByLabel("Interval in minutes").selectOption("15");
    await page.getByLabel("From hour").fill("23");
    await page.getByLabel("Until hour").fill("24");
    await page.getByRole("button", { name: "Save" }).click();
    await eventually(async () => {
      const now = await daemon.api("GET", "/heartbeat");
      return now.interval_minutes === 15 && now.active_start === 23 && now.active_end === 24;
    }, "the new hours");
    await page.getByRole("button", { name: "Run now" }).click();
    await page.locator("[data-beat]", { hasText: "nothing to look at" }).waitFor();
    await daemon.api("PUT", "/memories/rent", { content: "Ask about the rent." });
    await page.getByRole("button", { name: "Run now" }).click();
    await page.locator("[data-beat]", { hasText: "900 euros" }).waitFor();
  });
});

test("a switch that is clicked twice before the first answer is as it was", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/automation?tab=heartbeat`);
    const knob = page.getByRole("switch", { name: "Heartbeat" });
    await knob.waitFor();
    const before = (await daemon.api("GET", "/heartbeat")).enabled;
    const sent = [];
    await page.route("**/settings/heartbeat.enabled", async (route) => {
      sent.push(route.request().postDataJSON().value);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await knob.click();
    await knob.click();
    await eventually(() => sent.length === 2, "both changes");
    assert.deepEqual(sent, [!before, before]);
    await eventually(async () => (await daemon.api("GET", "/heartbeat")).enabled === before, "the switch");
  });
});

test("what is typed is not overwritten by an answer that comes late", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.route("**/api/v1/custom-instructions", async (route) => {
      if (route.request().method() === "GET") await new Promise((resolve) => setTimeout(resolve, 1_000));
      await route.continue();
    });
    await page.goto(`${daemon.url}/#/settings`);
    const box = page.getByRole("region", { name: "Custom instructions" }).getByRole("textbox");
    await box.waitFor();
    assert.equal(await box.isDisabled(), true, "nothing can be typed before the text is known");
    await box.fill("I live in Bremen.");
    await page.waitForTimeout(1_200);
    assert.equal(await box.inputValue(), "I live in Bremen.");
  });
});

test("what the person says about themselves is kept, undone, and in the next prompt", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/settings`);
    const part = page.getByRole("region", { name: "Custom instructions" });
    await part.getByRole("textbox").fill("I live in Bremen.");
    await part.getByRole("button", { name: "Save" }).click();
    await part.getByText("Saved").waitFor();
    assert.equal((await daemon.api("GET", "/custom-instructions")).text, "I live in Bremen.");
    await part.getByRole("button", { name: "Undo the last change" }).click();
    await part.getByText("Restored the previous text.").waitFor();
    assert.equal((await daemon.api("GET", "/custom-instructions")).text ?? null, null);
  });
});

test("a viewer sees lists and goals without texts and without buttons that would be refused", async () => {
  await withPage(browser, SCRIPT, async ({ daemon }) => {
    await daemon.api("POST", "/lists/Secret", { action: "add", items: ["a gift for Ada"] });
    const { token } = await daemon.api("POST", "/tokens", { name: "onlooker", roles: ["viewer"] });
    const other = await browser.newContext();
    const page = await watched(other, { expected: ["401"] });
    await page.goto(daemon.url);
    await page.getByLabel("Or paste a token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector(".app");
    await page.goto(`${daemon.url}/#/lists/Secret`);
    await page.getByRole("heading", { name: "Secret" }).waitFor();
    assert.equal(await page.getByText("gift").count(), 0);
    assert.equal(await page.locator(".main .btn.p").count(), 0);
    for (const view of ["documents", "automation?tab=goals", "automation?tab=heartbeat"]) {
      await page.goto(`${daemon.url}/#/${view}`);
      await page.waitForSelector(".main h1");
      await page.waitForTimeout(300);
      assert.equal(await page.locator(".main .btn.p").count(), 0, view);
    }
    assert.deepEqual(page.faults, []);
    await other.close();
  });
});
