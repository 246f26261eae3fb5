// Rules: tested part by part, linted line by line, tried on past calls, imported with the difference first,
// suggested from approvals.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - calls: [{tool: file_info, args: {path: a.txt}}]
  - say: Over.
`;
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const shot = async (page, name) => process.env.TOOLCRIB_SHOTS && page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, `${name}.png`), fullPage: true });
const ownRules = async (daemon) => (await daemon.api("GET", "/rules/own")).items.map((one) => `${one.effect} ${one.rule}`);

test("own rules are linted line by line, tried on past calls, then saved", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("POST", "/runs", { text: "Look", wait: true });
    await page.goto(`${daemon.url}/#/rules`);
    const own = page.getByRole("region", { name: "Your rules" });
    await own.getByRole("button", { name: "Add rule" }).click();
    await own.getByLabel("Verdict of rule 1").selectOption("deny");
    await own.getByLabel("Rule 1", { exact: true }).fill("Bash(rm");
    await own.locator('[data-finding="error"]').first().waitFor();
    await shot(page, "rules-lint");
    await own.getByLabel("Rule 1", { exact: true }).fill("file_info");
    await own.locator('[data-finding="error"]').waitFor({ state: "detached" });
    await own.getByRole("button", { name: "Try on past calls" }).click();
    await own.locator('[data-replay="1"]').waitFor();
    assert.match(await own.locator("[data-replay]").innerText(), /file_info[\s\S]*Deny/);
    assert.deepEqual(await ownRules(daemon), [], "nothing is written before it is saved");
    await shot(page, "rules-replay");
    await own.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await ownRules(daemon)).join() === "deny file_info", "the rule");
    await page.getByRole("region", { name: "Rules in force" }).getByText("file_info").waitFor();
    // Changed in place, then removed.
    await own.getByLabel("Verdict of rule 1").selectOption("ask");
    await own.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await ownRules(daemon)).join() === "ask file_info", "the change");
    await own.getByRole("button", { name: "Remove the rule file_info" }).click();
    await own.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await ownRules(daemon)).length === 0, "the removal");
  });
});

test("a command is tested part by part", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("POST", "/rules/own", [{ effect: "deny", rule: "Bash(git push --force:*)" }, { effect: "allow", rule: "Bash(git status:*)" }]);
    await page.goto(`${daemon.url}/#/rules`);
    const tester = page.getByRole("region", { name: "Test a command" });
    await tester.getByRole("textbox", { name: "Test a command" }).fill("git status && git push --force origin main");
    await tester.getByRole("button", { name: "Test", exact: true }).click();
    await tester.locator('[data-verdict="deny"]').waitFor();
    const parts = tester.getByRole("list", { name: "Parts of the command" }).getByRole("listitem");
    assert.equal(await parts.count(), 2);
    assert.match(await parts.nth(0).innerText(), /git status[\s\S]*Allow/);
    assert.match(await parts.nth(1).innerText(), /git push[\s\S]*Deny/);
    await shot(page, "rules-tester");
  });
});

test("rules of another program are shown as a difference before they are written", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/rules`);
    await page.getByText("Import rules of another program").click();
    const text = JSON.stringify({ permissions: { allow: ["Bash(npm test:*)"], deny: ["Read(./.env)"], defaultMode: "plan" } }, null, 2);
    await page.getByLabel("Choose a file", { exact: true }).setInputFiles({ name: "settings.json", mimeType: "application/json", buffer: Buffer.from(text) });
    const found = page.locator('[data-import="2"]');
    await found.waitFor();
    assert.match(await found.innerText(), /\+.*npm test/);
    await found.getByText("defaultMode").waitFor();
    assert.deepEqual(await ownRules(daemon), [], "nothing is written yet");
    await shot(page, "rules-import");
    await found.getByRole("button", { name: "Add these rules (2)" }).click();
    await page.getByText("Added: 2.").waitFor();
    assert.equal((await ownRules(daemon)).length, 2);
    await page.getByRole("region", { name: "Rules in force" }).getByText("npm test").waitFor();
    // Once more: there is nothing left to add.
    await page.getByLabel("Or paste the text").fill(text);
    await page.getByRole("button", { name: "Show the difference" }).click();
    await page.getByText("There is nothing to add.").waitFor();
    // What is no JSON is said, and the text stays.
    await page.getByLabel("Or paste the text").fill("nonsense");
    await page.getByRole("button", { name: "Show the difference" }).click();
    await page.getByText("not a JSON object").waitFor();
    page.faults = page.faults.filter((one) => !/\b4(00|22)\b/.test(one));
    assert.equal(await page.getByLabel("Or paste the text").inputValue(), "nonsense");
  });
});

test("what was approved again and again becomes a rule with one click", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await daemon.api("PUT", "/switches/tool:file_info", { state: "ask" });
    for (let turn = 0; turn < 3; turn++) {
      const run = await daemon.api("POST", "/runs", { text: "Look" });
      const asked = await eventually(async () => (await daemon.api("GET", "/approvals")).items[0], "the question");
      await daemon.api("POST", `/approvals/${asked.approval}`, { decision: "approve", nonce: asked.nonce });
      await eventually(async () => (await daemon.api("GET", `/runs/${run.run}`)).state === "ended", "the end");
    }
    await eventually(async () => (await daemon.api("GET", "/rules/suggestions")).items.length > 0, "a suggestion");
    await page.goto(`${daemon.url}/#/rules`);
    const one = page.locator("[data-suggestion]").first();
    await one.waitFor();
    await shot(page, "rules-suggestions");
    await one.getByRole("button", { name: "Add" }).click();
    await eventually(async () => (await ownRules(daemon)).length === 1, "the rule");
    assert.match((await ownRules(daemon))[0], /^allow .*a\.txt/);
  });
});
