// Models on the page: the first start without any, their test, the order of fallback; the setup as a file.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";

import { Daemon, eventually, launch, signIn, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

/** A provider in the format of Chat Completions that says one word to those who know the key. */
async function provider() {
  const server = http.createServer((request, answer) => {
    request.resume().on("end", () => {
      const isKnown = request.headers.authorization === "Bearer right-key-0123456789";
      answer.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
      const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "ready" } };
      const body = isKnown ? { id: "1", object: "chat.completion", model: "m", choices: [choice], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } } : { error: { message: "wrong key" } };
      answer.end(JSON.stringify(body));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

test("without a model the page shows the tour, and a model is added with its key", async () => {
  const daemon = await Daemon.start(null);
  const upstream = await provider();
  const context = await browser.newContext();
  try {
    const page = await signIn(context, daemon);
    const first = page.getByRole("region", { name: "No model yet" });
    await first.waitFor();
    await first.getByRole("button", { name: "Watch the tour" }).click();
    await page.locator(".approval").waitFor();
    assert.match(await page.locator(".approval").innerText(), /delete tour\/old-list\.md/);
    await page.goto(`${daemon.url}/#/chat`);
    await first.getByLabel("Provider").selectOption("openai-compatible");
    await first.getByLabel("Model").fill("m");
    await first.getByLabel("Address").fill(upstream.url);
    await first.getByLabel(/^Key/).fill("wrong-key-0123456789");
    await first.getByRole("button", { name: "Add and test" }).click();
    // The model is there now, so what did not work is said in the settings and not lost here.
    await page.goto(`${daemon.url}/#/settings`);
    await eventually(async () => (await daemon.api("GET", "/models")).items[0]?.model === "openai-compatible/m", "the model");
    const row = page.locator("section", { has: page.getByRole("heading", { name: "Models" }) });
    await row.getByRole("button", { name: "Test" }).first().click();
    await row.locator("[data-tested].bad").waitFor();
    await daemon.api("PUT", "/secrets/openai_compatible_api_key", { value: "right-key-0123456789" });
    await row.getByRole("button", { name: "Test" }).first().click();
    await row.locator("[data-tested].ok").waitFor();
    assert.ok(!fs.readFileSync(path.join(daemon.folder, "home/config.toml"), "utf8").includes("right-key"), "the key is in the vault");
    assert.deepEqual(page.faults, []);
  } finally {
    upstream.close();
    await context.close();
    await daemon.stop();
  }
});

test("the order of fallback is changed by buttons and by dragging", async () => {
  await withPage(browser, "version: 1\nturns:\n  - say: Nothing.\n", async ({ daemon, page }) => {
    await daemon.api("PUT", "/settings/model.fallback", { value: ["ollama/a", "ollama/b", "ollama/c"] });
    await page.goto(`${daemon.url}/#/settings`);
    const order = page.getByRole("list", { name: "Fallback order" });
    const kept = async () => (await daemon.api("GET", "/settings")).items.find((row) => row.key === "model.fallback").value.join();
    await order.getByRole("button", { name: "Move ollama/c up" }).click();
    await eventually(async () => (await kept()) === "ollama/a,ollama/c,ollama/b", "the order");
    await order.locator("li", { hasText: "ollama/b" }).dragTo(order.locator("li", { hasText: "ollama/a" }));
    await eventually(async () => (await kept()) === "ollama/b,ollama/a,ollama/c", "the dragged order");
    await order.getByRole("button", { name: "Remove ollama/a from the order" }).click();
    await eventually(async () => (await kept()) === "ollama/b,ollama/c", "two are left");
  });
});

test("the setup goes out as a file and into another daemon, section by section, without secrets", async () => {
  const script = "version: 1\nturns:\n  - say: Nothing.\n";
  let file;
  await withPage(browser, script, async ({ daemon, page }) => {
    await daemon.api("PUT", "/settings/limits.rounds", { value: 7 });
    await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(git push:*)" }]);
    await daemon.api("PUT", "/memories/color", { content: "Blue." });
    await daemon.api("POST", "/agents", { name: "reviewer", from: "general-assistant" });
    await daemon.api("PUT", "/secrets/some_key", { value: "never-in-a-file-123" });
    await page.goto(`${daemon.url}/#/settings`);
    const section = page.locator("section", { has: page.getByRole("heading", { name: "Setup as a file" }) });
    const [saved] = await Promise.all([page.waitForEvent("download"), section.getByRole("button", { name: "Export" }).click()]);
    file = fs.readFileSync(await saved.path(), "utf8");
  });
  assert.ok(!file.includes("never-in-a-file"));
  assert.deepEqual(Object.keys(JSON.parse(file)), ["toolcrib", "version", "settings", "rules", "agents", "memories", "tasks"]);
  await withPage(browser, script, async ({ daemon, page }) => {
    await daemon.api("PUT", "/memories/gone", { content: "Not in the file." });
    await daemon.api("POST", "/rules/own", [{ effect: "deny", rule: "Bash(rm:*)" }]);
    await page.goto(`${daemon.url}/#/settings`);
    const section = page.locator("section", { has: page.getByRole("heading", { name: "Setup as a file" }) });
    await section.getByLabel("Import").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") });
    await section.getByText("x.json is not a setup of Toolcrib.").waitFor();
    await section.getByLabel("Import").first().setInputFiles({ name: "setup.json", mimeType: "application/json", buffer: Buffer.from(file) });
    // The sections of the file come after it was read; before that, the last group is that of the export.
    await section.getByRole("button", { name: "Import these" }).waitFor();
    await section.locator("fieldset").last().getByLabel("Agents").uncheck();
    await section.getByLabel("Remove entries that the file does not contain").check();
    await section.getByRole("button", { name: "Import these" }).click();
    await section.getByText("Rules: 2 changed.").waitFor();
    assert.deepEqual((await daemon.api("GET", "/rules/own")).items.map((row) => row.rule), ["Bash(git push:*)"]);
    assert.deepEqual((await daemon.api("GET", "/memories")).items.map((row) => row.key), ["color"]);
    assert.equal((await daemon.api("GET", "/settings")).items.find((row) => row.key === "limits.rounds").value, 7);
    assert.ok(!(await daemon.api("GET", "/agents")).items.some((row) => row.name === "reviewer"), "a section that was not chosen");
  });
});
