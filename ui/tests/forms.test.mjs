// Forms that are made of the schemas of tools, and changes that are decided part by part.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { ask, eventually, launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const lines = (change) => Array.from({ length: 30 }, (_, number) => (change.includes(number) ? `changed ${number}` : `line ${number}`)).join("\n") + "\n";

test("a change of a file is shown part by part, and a part can be left out", async () => {
  const script = `
version: 1
turns:
  - calls: [{tool: write_file, args: {path: list.txt, content: ${JSON.stringify(lines([2, 27]))}}}]
  - calls: [{tool: edit_file, args: {path: list.txt, old_text: "line 5\\n", new_text: "five\\n"}}]
  - say: Over.
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    for (const tool of ["write_file", "edit_file"]) await daemon.api("PUT", `/switches/tool:${tool}`, { state: "ask" });
    fs.writeFileSync(path.join(daemon.workspace, "list.txt"), lines([]));
    await ask(page, "Change it");
    const card = page.locator(".approval");
    const parts = card.locator(".hunk");
    await parts.nth(1).waitFor();
    assert.match(await parts.nth(0).innerText(), /-line 2\n?[\s\S]*\+changed 2/);
    await parts.nth(1).getByLabel("Do this part").uncheck();
    await parts.nth(0).getByLabel("Do this part").uncheck();
    await page.waitForTimeout(500);
    assert.ok(await card.getByRole("button", { name: /Allow/ }).first().isDisabled(), "nothing is left to allow");
    await parts.nth(0).getByLabel("Do this part").check();
    await card.getByRole("button", { name: "Allow as edited" }).click();
    const file = () => fs.readFileSync(path.join(daemon.workspace, "list.txt"), "utf8");
    await eventually(() => file() === lines([2]), "the one part");
    // A change of one part has nothing to choose.
    await parts.getByText("+five").waitFor();
    assert.equal(await card.getByLabel("Do this part").count(), 0);
    await page.waitForTimeout(500);
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.locator(".md", { hasText: "Over." }).waitFor();
    assert.match(file(), /\nfive\n/);
  });
});

test("arguments are edited in a form of the schema, and what changed is marked", async () => {
  const script = `
version: 1
turns:
  - calls: [{tool: delete_file, args: {path: a.txt}}]
  - say: Over.
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    for (const name of ["a.txt", "b.txt"]) fs.writeFileSync(path.join(daemon.workspace, name), name);
    await ask(page, "Delete it");
    const card = page.locator(".approval");
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByLabel("path").fill("b.txt");
    await card.locator(".changedfield").getByText("path").waitFor();
    // The form and the JSON are two views of one value.
    await card.getByRole("button", { name: "JSON" }).click();
    assert.deepEqual(JSON.parse(await card.locator("textarea").inputValue()), { path: "b.txt" });
    await card.getByRole("button", { name: "Form" }).click();
    await card.getByLabel(/recursive/).selectOption("false");
    await page.waitForTimeout(500);
    await card.getByRole("button", { name: "Allow as edited" }).click();
    await page.locator(".md", { hasText: "Over." }).waitFor();
    assert.deepEqual(fs.readdirSync(daemon.workspace), ["a.txt"]);
  });
});

test("a tool is tried from a form, with a dry run first", async () => {
  await withPage(browser, "version: 1\nturns:\n  - say: Nothing.\n", async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/tools?tool=write_file`);
    const drawer = page.locator("dialog.drawer");
    await drawer.getByLabel("path").fill("tried.txt");
    await drawer.getByLabel("content").fill("Hello");
    await drawer.getByLabel(/mode/).selectOption({ label: "overwrite" });
    await drawer.getByRole("button", { name: "Dry run" }).click();
    await drawer.locator("[data-forecast]").waitFor();
    assert.ok(!fs.existsSync(path.join(daemon.workspace, "tried.txt")), "a dry run writes nothing");
    await drawer.getByRole("button", { name: "Run", exact: true }).click();
    await drawer.locator('[data-state="succeeded"]').first().waitFor();
    assert.equal(fs.readFileSync(path.join(daemon.workspace, "tried.txt"), "utf8"), "Hello");
  });
});
