// Tasks and memories on the page, against the real daemon.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - say: The news are good.
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("a task is planned, runs, pauses and is cancelled", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/automation`);
    await page.getByText("No tasks.").waitFor();
    await page.getByRole("button", { name: "New task" }).click();
    const form = page.locator("dialog[open]");
    await form.getByLabel("Purpose").fill("Project news");
    await form.getByLabel("Prompt of the agent").fill("Summarize the news.");
    await form.getByRole("button", { name: "Cron" }).click();
    await form.getByLabel("Minute, hour").fill("0 99 * * *");
    await form.getByRole("button", { name: "Create task" }).click();
    // What the daemon refuses is said in the form, and nothing typed is lost.
    await form.getByRole("alert").waitFor();
    await form.getByLabel("Minute, hour").fill("0 9 * * MON-FRI");
    page.faults = page.faults.filter((fault) => !/\b4(00|22)\b/.test(fault));
    await form.getByRole("button", { name: "Create task" }).click();
    const card = page.locator("[data-task]", { hasText: "Project news" });
    await card.waitFor();
    const [task] = (await daemon.api("GET", "/tasks")).items;
    assert.equal(task.prompt, "Summarize the news.");
    assert.match(await card.innerText(), /in \d+ (hr|day|min)/, "the next time in words");
    await card.getByRole("button", { name: "Run now" }).click();
    await card.getByText("Last runs (1)").click();
    await card.getByText("The news are good.").waitFor();
    await card.getByRole("link", { name: "Open the chat" }).waitFor();
    await card.getByRole("button", { name: "Pause" }).click();
    await card.locator('[data-state="PAUSED"]').waitFor();
    await card.getByRole("button", { name: "Resume" }).click();
    await card.locator('[data-state="PENDING"]').waitFor();
    await card.getByRole("button", { name: "Cancel task" }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Cancel task" }).click();
    await page.getByText("No tasks.").waitFor();
    await page.getByRole("button", { name: "All", exact: true }).click();
    await card.locator('[data-state="CANCELLED"]').waitFor();
    // A repeated task keeps its first time.
    await page.getByRole("button", { name: "New task" }).click();
    await form.getByLabel("Purpose").fill("Water the plants");
    await form.getByLabel("Prompt of the agent").fill("Remind me.");
    await form.getByRole("button", { name: "Repeatedly" }).click();
    await form.getByLabel("First time").fill("2099-12-24T17:00");
    await form.getByLabel("How often").selectOption("weekly");
    await form.getByRole("button", { name: "Create task" }).click();
    await page.locator("[data-task]", { hasText: "Water the plants" }).waitFor();
    const made = (await daemon.api("GET", "/tasks?open=true")).items[0];
    assert.match(made.next[0], /^2099-12-24T17:00/);
  });
});

test("a memory is written, found, edited, forgotten, brought back, exported and imported", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/memory`);
    await page.getByText("No memories yet").waitFor();
    for (const [key, text] of [["favorite_color", "The favorite color is blue."], ["shoe_size", "The shoe size is 43."]]) {
      await page.getByRole("button", { name: "New memory" }).click();
      const form = page.locator("dialog[open]");
      await form.getByLabel("Key").fill(key);
      await form.getByLabel("Text").fill(text);
      await form.getByRole("button", { name: "Save" }).click();
      await page.locator(`[data-memory="${key}"]`).waitFor();
    }
    await page.getByRole("searchbox", { name: "Search memories" }).fill("which color is liked");
    await eventually(async () => (await page.locator("[data-memory]").first().getAttribute("data-memory")) === "favorite_color", "the memory that fits");
    assert.match(page.url(), /find=which/);
    await page.getByRole("searchbox", { name: "Search memories" }).fill("");
    await page.getByRole("button", { name: "Edit favorite_color" }).click();
    await page.locator("dialog[open]").getByLabel("Text").fill("The favorite color is green.");
    await page.locator("dialog[open]").getByLabel("Group").selectOption("PREFERENCE");
    await page.locator("dialog[open]").getByRole("button", { name: "Save" }).click();
    await page.getByRole("region", { name: "Preferences" }).getByText("green").waitFor();
    await page.getByRole("button", { name: "Forget shoe_size" }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Forget" }).click();
    await page.getByText("Forgot shoe_size.").waitFor();
    await page.getByRole("button", { name: "Undo the last change" }).click();
    await page.getByText("Restored shoe_size.").waitFor();
    await page.locator('[data-memory="shoe_size"]').waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
    const file = JSON.parse(fs.readFileSync(await saved.path(), "utf8"));
    assert.equal(file.memories.length, 2);
    await daemon.api("PUT", "/memories/third", { content: "A third one." });
    file.memories.pop();
    const chosen = { name: "memories.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(file)) };
    await page.getByLabel("Import", { exact: true }).last().setInputFiles(chosen);
    await page.locator("dialog[open]").getByLabel("Forget memories that the file does not contain").check();
    await page.locator("dialog[open]").getByRole("button", { name: "Import" }).click();
    await page.getByText("0 added, 0 replaced, 1 unchanged, 2 forgotten.").waitFor();
    assert.deepEqual((await daemon.api("GET", "/memories")).items.map((one) => one.key), [file.memories[0].key]);
  });
});
