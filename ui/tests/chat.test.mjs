// What the composer does besides sending text, and what can be done with a conversation.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { ask, eventually, launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const said = (page, text) => page.locator(".md", { hasText: text });

test("files are attached by drop and by paste, stored in the workspace and named to the model", async () => {
  const script = `
version: 1
turns:
  - expect: {last_user_contains: "\`attachments/notes.txt\`, \`attachments/pasted.txt\`"}
    calls: [{tool: read_file, args: {path: attachments/notes.txt}}]
  - expect: {results: [{tool: read_file, outcome: succeeded, contains: "Buy oats"}]}
    say: I read it.
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    const give = (type, name, text) =>
      page.locator("[data-composer]").evaluate((box, [type, name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        if (type === "drop") window.dispatchEvent(Object.assign(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })));
        else box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
      }, [type, name, text]);
    await give("drop", "notes.txt", "Buy oats");
    await page.getByRole("list", { name: "Attached files" }).getByText("notes.txt").waitFor();
    // What is not text is refused in words.
    await give("paste", "photo.png", "\u0089PNG\0\0");
    await page.getByText("photo.png is not text.").waitFor();
    await page.locator("[data-composer]").evaluate((box) => {
      const data = new DataTransfer();
      data.setData("text/plain", "long ".repeat(3_000));
      box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await page.getByText("pasted.txt").waitFor();
    await give("drop", "other.txt", "never sent");
    await page.getByRole("button", { name: "Remove other.txt" }).click();
    await ask(page, "Read my notes");
    await said(page, "I read it.").waitFor();
    assert.deepEqual(fs.readdirSync(path.join(daemon.workspace, "attachments")).sort(), ["notes.txt", "pasted.txt"]);
    // They are calls like any other: the history has them.
    assert.equal((await daemon.api("GET", "/calls?tool=write_file")).items.length, 2);
  });
});

test("a slash offers skills with fields for their parameters, an at sign agents and files", async () => {
  const script = `
version: 1
turns:
  - expect: {last_user_contains: "city: Rome", system_contains: "Plan a trip by train."}
    say: Planned.
  - expect: {last_user_contains: "\`docs/plan.md\`"}
    say: Looked.
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    const skill = path.join(daemon.workspace, ".toolcrib/skills/plan-trip");
    fs.mkdirSync(skill, { recursive: true });
    fs.mkdirSync(path.join(daemon.workspace, "docs"));
    fs.writeFileSync(path.join(daemon.workspace, "docs/plan.md"), "# Plan");
    fs.writeFileSync(path.join(skill, "SKILL.md"), "---\nname: plan-trip\ndescription: Plans a trip.\nparameters:\n  - {name: city, type: string, description: Where to, required: true}\n---\nPlan a trip by train.\n");
    const home = path.join(daemon.folder, "home/skills/plan-trip");
    fs.mkdirSync(home, { recursive: true });
    fs.copyFileSync(path.join(skill, "SKILL.md"), path.join(home, "SKILL.md"));
    fs.rmSync(path.join(daemon.workspace, ".toolcrib"), { recursive: true });
    await eventually(async () => (await daemon.api("GET", "/skills")).items.some((one) => one.name === "plan-trip"), "the skill");
    const box = page.locator("[data-composer]");
    await box.pressSequentially("/pla");
    await page.getByRole("option", { name: /plan-trip/ }).waitFor();
    await box.press("Enter");
    await page.getByLabel("city").fill("Rome");
    assert.equal(await box.inputValue(), "");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await said(page, "Planned.").waitFor();
    await box.pressSequentially("Look at @do");
    await page.getByRole("option", { name: "docs/" }).waitFor();
    await box.press("Enter");
    await page.getByRole("option", { name: "docs/plan.md" }).waitFor();
    await box.press("Tab");
    assert.equal(await box.inputValue(), "Look at `docs/plan.md` ");
    await box.pressSequentially("@general");
    await page.getByRole("option", { name: /general-assistant/ }).waitFor();
    // Escape closes the list and stops nothing.
    await box.press("Escape");
    await eventually(async () => (await page.locator("#offers").count()) === 0, "no list");
    await box.press("Control+Enter");
    await said(page, "Looked.").waitFor();
  });
});

// The list of the new text was closed by the blur of the old one, 200 ms before.
test("what is typed right after a blur keeps its list", async () => {
  await withPage(browser, "version: 1\nturns:\n  - say: Nothing.\n", async ({ daemon, page }) => {
    fs.mkdirSync(path.join(daemon.workspace, "docs"));
    const box = page.locator("[data-composer]");
    await box.focus();
    await box.evaluate((one) => (one.blur(), one.focus()));
    await box.pressSequentially("@do");
    const offer = page.getByRole("option", { name: "docs/" });
    await offer.waitFor();
    await page.waitForTimeout(400);
    assert.ok(await offer.isVisible());
  });
});

test("a branch begins as its conversation did, and the last answer is generated anew in one", async () => {
  const script = `
version: 1
turns:
  - say: The first answer.
  - say: The second answer.
    usage: {input: 10, output: 5}
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    await ask(page, "One");
    await said(page, "The first answer.").waitFor();
    await page.locator(".usage").waitFor();
    await page.fill("[data-composer]", "Two");
    await page.press("[data-composer]", "Enter");
    await said(page, "The second answer.").waitFor();
    const origin = page.url().split("/").pop();
    await page.getByRole("button", { name: "Regenerate" }).click();
    await eventually(async () => !page.url().endsWith(origin), "another conversation");
    await said(page, "The second answer.").waitFor();
    assert.equal(await said(page, "The first answer.").count(), 1);
    const branch = page.url().split("/").pop();
    assert.equal((await daemon.api("GET", `/conversations/${branch}/messages`)).items.length, 4);
    // The message of a branch waits in the composer, to be changed. A run that has not ended has no branch.
    await eventually(async () => (await page.getByRole("button", { name: "Branch from here" }).count()) === 2, "the end of both runs");
    await page.getByRole("button", { name: "Branch from here" }).last().click();
    await eventually(async () => !page.url().endsWith(branch), "a branch of the branch");
    await eventually(async () => (await page.locator("[data-composer]").inputValue()) === "Two", "the message");
    assert.equal(await said(page, "The second answer.").count(), 0);
    // A branch outlives what it came from.
    await daemon.api("DELETE", `/conversations/${branch}`);
    await daemon.api("DELETE", `/conversations/${origin}`);
    await page.fill("[data-composer]", "Two, changed");
    await page.press("[data-composer]", "Enter");
    await said(page, "The second answer.").waitFor();
    await page.reload();
    await said(page, "The first answer.").waitFor();
    await page.getByText("Two, changed").first().waitFor();
  });
});

test("agent, model and preset are chosen in the bar, and the preset holds at once", async () => {
  const script = `
version: 1
turns:
  - calls: [{tool: get_current_time, args: {}}]
  - say: Over.
`;
  await withPage(browser, script, async ({ daemon, page }) => {
    await daemon.api("POST", "/agents", { name: "reviewer", from: "general-assistant" });
    await page.reload();
    await page.getByLabel("Policy").selectOption("locked");
    await eventually(async () => (await daemon.api("GET", "/settings")).items.find((row) => row.key === "policy").value === "locked", "the preset");
    assert.ok((await page.getByLabel("Model").locator("option").allInnerTexts()).some((one) => one.startsWith("scripted:")));
    await page.getByLabel("Agent").selectOption("reviewer");
    await page.fill("[data-composer]", "Go");
    await page.press("[data-composer]", "Enter");
    await page.waitForURL(/#\/chat\/conv_/);
    await eventually(async () => (await daemon.api("GET", "/runs")).items[0]?.agent === "reviewer", "the agent");
  });
});

test("formulas are laid out, and a hostile one stays text", async () => {
  const script = `
version: 1
turns:
  - say: |
      Euler: $e^{i\\pi} + 1 = 0$, and it costs $5 or $6.

      $$
      \\int_0^1 x^2 \\, dx = \\frac{1}{3}
      $$

      Bad: $\\href{javascript:alert(1)}{x}$ and $\\undefinedmacro{y}$.
`;
  await withPage(browser, script, async ({ page }) => {
    await ask(page, "Math");
    await page.locator(".md math").nth(1).waitFor();
    await page.locator(".md math[display=block]").waitFor();
    await page.locator(".md").getByText("it costs $5 or $6.").waitFor();
    assert.equal(await page.locator('.md [href^="javascript"]').count(), 0);
    await page.locator(".md").getByText("\\undefinedmacro{y}").waitFor();
  });
});

test("runs that another program begins here are shown, even if they end at once; the first leave a long chat", async () => {
  const talks = Array.from({ length: 60 }, (_, at) => `  - say: Answer ${at}.\n`).join("");
  await withPage(browser, `version: 1\nturns:\n${talks}`, async ({ daemon, page }) => {
    await ask(page, "Question 0");
    // The last answer is announced, too, outside of the log.
    const answer = (at) => page.getByRole("log").getByText(`Answer ${at}.`);
    await answer(0).waitFor();
    const [conversation] = /conv_[^?]+/.exec(page.url());
    const begin = (at) => daemon.api("POST", "/runs", { text: `Question ${at}`, conversation, wait: true });
    await begin(1);
    await answer(1).waitFor();
    for (let at = 2; at < 45; at++) await begin(at);
    await answer(44).waitFor();
    const earlier = page.getByRole("button", { name: "Show earlier runs" });
    await earlier.waitFor();
    assert.ok((await page.locator(".me").count()) <= 40, "what is shown has an end");
    // Twice at once: each run is shown once.
    await earlier.dblclick();
    for (let more = await earlier.count(); more; more = await earlier.count()) await earlier.click();
    // What is out of sight is not laid out, and has no inner text.
    const asked = () => page.locator(".me").allTextContents();
    await eventually(async () => (await asked()).length >= 45, "all messages");
    assert.deepEqual(await asked(), Array.from({ length: 45 }, (_, at) => `Question ${at}`));
  });
});
