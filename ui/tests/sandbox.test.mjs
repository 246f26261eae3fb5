// The sandbox on the page: a shell that survives a reload with its screen, and the files.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = "version: 1\nturns:\n  - say: Nothing.\n";
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const screen = (page) => page.locator(".xterm-rows").innerText();

test("a shell in the sandbox: commands, size, reload with its screen, the audit, the end", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.getByRole("link", { name: "Sandbox" }).first().click();
    await page.waitForURL(/#\/sandbox/);
    await page.locator(".xterm-rows").waitFor();
    await eventually(async () => (await screen(page)).includes("$"), "the prompt");
    await page.keyboard.type("echo made-$((40 + 2)) > out.txt; cat out.txt; tty\n");
    await eventually(async () => /made-42[\s\S]*\/dev\/pts\//.test(await screen(page)), "the output, on a real terminal");
    assert.equal(fs.readFileSync(path.join(daemon.workspace, "out.txt"), "utf8"), "made-42\n");
    // Programs know the size of the window, and a narrower one.
    await page.keyboard.type("clear; stty size\n");
    const size = async () => /(\d+) (\d+)\s*\n/.exec(await screen(page));
    await eventually(size, "the size");
    const wide = Number((await size())[2]);
    await page.setViewportSize({ width: 700, height: 700 });
    await page.waitForTimeout(600);
    await page.keyboard.type("clear; stty size\n");
    await eventually(async () => Number((await size())?.[2] ?? wide) < wide, "the narrower window");
    // A program that runs goes on while the page is away, and its screen comes back.
    await page.keyboard.type("clear; export KEPT=here; (sleep 1; echo after-the-reload) &\n");
    // The job has a number when the line was read and the screen cleared.
    await eventually(async () => /\[1\] \d+/.test(await screen(page)), "the job");
    await page.reload();
    await eventually(async () => (await screen(page)).includes("after-the-reload"), "what happened meanwhile");
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("echo still-$KEPT\n");
    await eventually(async () => (await screen(page)).includes("still-here"), "the same shell");
    assert.equal((await daemon.api("GET", "/terminals")).items.length, 1);
    const acts = (await daemon.api("GET", "/audit?limit=100")).items.map((row) => JSON.stringify(row));
    assert.ok(acts.some((row) => row.includes("terminal.command") && row.includes("echo still-$KEPT")), "the command is in the audit");
    // The keyboard gets out of the terminal again.
    await page.keyboard.press("Control+Shift+X");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("exit 3\n");
    await page.getByText("The shell ended with code 3.").waitFor();
    await page.getByRole("button", { name: "Close shell 1" }).click();
    await eventually(async () => (await daemon.api("GET", "/terminals")).items.length === 0, "no terminal");
  });
});

test("the kill switch ends a shell", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/sandbox`);
    await eventually(async () => (await page.locator(".xterm-rows").count()) && (await screen(page)).includes("$"), "the prompt");
    await daemon.api("PUT", "/kill-switch", { reason: "test" });
    await page.getByText("The shell ended with code").waitFor();
    assert.equal((await daemon.api("POST", "/terminals", { columns: 80, rows: 24 })).code, "conflict");
    await daemon.api("DELETE", "/kill-switch");
  });
});

test("files of the workspace are listed, edited, uploaded and deleted", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    fs.mkdirSync(path.join(daemon.workspace, "docs"));
    fs.writeFileSync(path.join(daemon.workspace, "docs/a.txt"), "one\n");
    await page.goto(`${daemon.url}/#/sandbox?tab=files`);
    await page.getByRole("button", { name: /docs\// }).click();
    await page.getByRole("button", { name: /a\.txt/ }).click();
    const editor = page.getByRole("textbox", { name: "docs/a.txt" });
    await eventually(async () => (await editor.inputValue()) === "one\n", "the text");
    await editor.fill("one\ntwo\n");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved").waitFor();
    assert.equal(fs.readFileSync(path.join(daemon.workspace, "docs/a.txt"), "utf8"), "one\ntwo\n");
    await page.getByLabel("Upload").last().setInputFiles({ name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("new") });
    await page.getByRole("button", { name: /b\.txt/ }).waitFor();
    assert.equal(fs.readFileSync(path.join(daemon.workspace, "docs/b.txt"), "utf8"), "new");
    // Deleting asks first here, and then the policy asks as it asks everybody.
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await page.getByText("It needs a decision, which is in the inbox.").waitFor();
    assert.ok(fs.existsSync(path.join(daemon.workspace, "docs/a.txt")));
  });
});
