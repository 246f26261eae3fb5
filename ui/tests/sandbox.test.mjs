// The sandbox on the page: a shell that survives a reload with its screen, and the files.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { looksRight } from "./look.mjs";
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

test("the text of a file that comes late is not shown under the path of another", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    for (const name of ["slow.txt", "fast.txt"]) fs.writeFileSync(path.join(daemon.workspace, name), `${name}\n`);
    await page.route(/\/files\?path=slow/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 800));
      await route.continue();
    });
    await page.goto(`${daemon.url}/#/sandbox?tab=files`);
    await page.getByRole("button", { name: /slow\.txt/ }).click();
    await page.getByRole("button", { name: /fast\.txt/ }).click();
    const editor = page.getByRole("textbox", { name: "fast.txt" });
    await eventually(async () => (await editor.inputValue()) === "fast.txt\n", "the text");
    await page.waitForTimeout(1_000);
    assert.equal(await editor.inputValue(), "fast.txt\n");
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
    // Markdown is shown as it reads, and edited as its text.
    await page.getByLabel("Upload").last().setInputFiles({ name: "c.md", mimeType: "text/markdown", buffer: Buffer.from("# Pegs\n\nTwo are **missing**.\n") });
    await page.getByRole("button", { name: /c\.md/ }).click();
    await page.locator(".md strong", { hasText: "missing" }).waitFor();
    await page.getByRole("button", { name: "Text", exact: true }).click();
    const source = page.getByRole("textbox", { name: "docs/c.md" });
    await eventually(async () => (await source.inputValue()).startsWith("# Pegs"), "its text");
    await page.getByRole("button", { name: /a\.txt/ }).click();
    await editor.waitFor();
    // Deleting asks first here, and then the policy asks as it asks everybody.
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
    await page.getByText("It needs an approval, which is in the inbox.").waitFor();
    assert.ok(fs.existsSync(path.join(daemon.workspace, "docs/a.txt")));
  });
});

/** Runs a script, loads an image of another host and links to one: as an image, it can do neither. */
/** One pixel. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const SVG = `<?xml version="1.0"?>
<!-- A drawing -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="120" height="80" onload="parent.hit = 1">
  <script>parent.hit = 1; fetch("/api/v1/status?from=svg");</script>
  <rect width="120" height="80" fill="teal"/>
  <image xlink:href="/api/v1/status?from=image" width="10" height="10"/>
  <foreignObject width="10" height="10"><iframe xmlns="http://www.w3.org/1999/xhtml" src="/api/v1/status?from=frame"></iframe></foreignObject>
</svg>
`;

test("an SVG of the workspace is drawn as an image that does nothing, and edited as its text", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    const asked = [];
    page.on("request", (request) => request.url().includes("from=") && asked.push(request.url()));
    fs.writeFileSync(path.join(daemon.workspace, "drawing.svg"), SVG);
    fs.writeFileSync(path.join(daemon.workspace, "page.svg"), "<!DOCTYPE html><html><svg></svg></html>");
    fs.writeFileSync(path.join(daemon.workspace, "photo.png"), PNG);
    fs.writeFileSync(path.join(daemon.workspace, "words.png"), "no image");
    await page.goto(`${daemon.url}/#/sandbox?tab=files`);
    await page.getByRole("button", { name: /drawing\.svg/ }).click();
    const image = page.locator("[data-preview] img");
    await eventually(async () => (await image.count()) && (await image.evaluate((one) => one.naturalWidth)) === 120, "the image");
    assert.match(await image.getAttribute("src"), /^blob:/);
    await page.waitForTimeout(500);
    assert.deepEqual(asked, []);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    await looksRight(page, "sandbox-svg");
    await page.getByRole("button", { name: "Text", exact: true }).click();
    const source = page.getByRole("textbox", { name: "drawing.svg" });
    await source.fill(SVG.replace('width="120"', 'width="60"'));
    await page.getByRole("button", { name: "Image", exact: true }).click();
    await eventually(async () => (await image.evaluate((one) => one.naturalWidth)) === 60, "the image as it was edited");
    // What only has the name of an image is text.
    await page.getByRole("button", { name: /page\.svg/ }).click();
    await page.getByRole("textbox", { name: "page.svg" }).waitFor();
    assert.equal(await image.count(), 0);
    await page.getByRole("button", { name: /photo\.png/ }).click();
    await eventually(async () => (await image.count()) && (await image.evaluate((one) => one.naturalWidth)) === 1, "the image of bytes");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    assert.deepEqual(fs.readFileSync(await saved.path()), PNG);
    await page.getByRole("button", { name: /words\.png/ }).click();
    await page.locator("[data-no-preview]").waitFor();
    await looksRight(page, "sandbox-no-preview");
  }, { expected: ["422"] });
});

/** Stands in for Alpine's package manager, slow enough to be watched. */
const APK = `#!/bin/sh
installed=/lib/apk/db/installed
touch $installed
command=$1; shift
words=
for word; do case $word in -*) ;; *) words="$words $word" ;; esac; done
case $command in
update) echo "OK: 1 distinct packages available" ;;
list) while read -r line; do echo "$line x86_64 {x} (MIT) [installed]"; done < $installed ;;
search) echo "hello-1.2-r3 - Says <b>hello</b>" ;;
add) for name in $words; do [ "$name" = hello ] || { echo "ERROR: unable to select packages: $name (no such package)" >&2; exit 1; }; done
  echo "(1/1) Downloading hello"; sleep 3; echo "hello-1.2-r3" >> $installed; echo "(1/1) Installing hello (1.2-r3)" ;;
del) : > $installed; echo "(1/1) Purging hello" ;;
esac
`;

/** A small system of the host's busybox, on a mirror of this machine; `null` where there is none. */
async function mirror(folder) {
  const busybox = (process.env.PATH ?? "").split(":").map((one) => path.join(one, "busybox")).find((one) => fs.existsSync(one));
  if (!busybox) return null;
  const root = path.join(folder, "system");
  for (const one of ["bin", "dev", "etc/apk/keys", "home", "lib/apk/db", "proc", "root", "sbin", "sys", "tmp", "usr/bin", "usr/sbin", "var/cache/apk", "run"]) fs.mkdirSync(path.join(root, one), { recursive: true });
  fs.copyFileSync(busybox, path.join(root, "bin/busybox"));
  fs.chmodSync(path.join(root, "bin/busybox"), 0o755);
  for (const applet of ["sh", "cat", "sleep", "touch", "printf", "echo", "head", "grep", "rm", "mv", "test"]) fs.symlinkSync("/bin/busybox", path.join(root, "bin", applet));
  const files = { "etc/alpine-release": "3.24.2\n", "etc/os-release": "ID=alpine\nVERSION_ID=3.24.2\n", "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "sbin/apk": APK };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(root, name), text, { mode: 0o755 });
  const archive = path.join(folder, "system.tar.gz");
  execFileSync("tar", ["-czf", archive, "-C", root, "."]);
  const bytes = fs.readFileSync(archive);
  const server = http.createServer((request, response) => response.end(bytes));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const entry = `127.0.0.1:${server.address().port}`;
  const arch = process.arch === "arm64" ? "aarch64" : "x86_64";
  const release = { name: "Alpine Linux", version: "3.24.2", branch: "v3.24", mirrors: [`http://${entry}`], sha256: { [arch]: crypto.createHash("sha256").update(bytes).digest("hex") }, signer: null };
  fs.writeFileSync(path.join(folder, "release.json"), JSON.stringify(release));
  return { entry, close: () => server.close() };
}

test("packages of the userland: a live log, what failed, removal, and the end of it", async (context) => {
  await withPage(browser, "version: 1\nturns:\n  - say: Nothing.\n", async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/sandbox?tab=packages`);
    await page.locator('[data-userland="absent"]').waitFor();
    await page.getByText("namespace").waitFor();
    const there = await mirror(daemon.folder);
    if (!there) return context.diagnostic("NOT TRIED: there is no busybox on this host (package busybox-static)");
    try {
      await daemon.api("PUT", "/settings/allow_net", { value: [there.entry] });
      const release = path.join(daemon.folder, "release.json");
      // Not waited for in this thread, which is the mirror too.
      await promisify(execFile)(process.env.TOOLCRIB_BINARY ?? "toolcrib", ["sandbox", "install", "--release", release, "--allow-net", there.entry], { env: daemon.env });
      await daemon.kill();
      await daemon.run();
      page.faults = [];
      await page.reload();
      await page.locator('[data-userland="ready"]').waitFor();
      await page.getByText("Alpine Linux 3.24.2").waitFor();
      assert.match(await page.locator("[data-userland]").innerText(), /Disk\s+[\d.]+ [kM]B/);
      await page.getByLabel("Find packages").fill("hello");
      await page.getByText("Says <b>hello</b>").waitFor();
      await page.getByRole("button", { name: "Install hello" }).click();
      // The line is there while the package manager still works.
      await page.locator('[data-work="running"] pre', { hasText: "(1/1) Downloading hello" }).waitFor();
      await page.locator('[data-work="done"] pre', { hasText: "(1/1) Installing hello (1.2-r3)" }).waitFor();
      await page.getByRole("button", { name: "Remove hello" }).waitFor();
      if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "userland.png") });
      await daemon.api("POST", "/userland/packages", { change: "install", names: ["nosuch"] });
      await page.locator('[data-work="failed"]', { hasText: "no such package" }).waitFor();
      await page.getByRole("button", { name: "Remove hello" }).click();
      await page.getByRole("button", { name: "Install hello" }).waitFor();
      await page.getByRole("button", { name: "Uninstall" }).click();
      await page.locator("dialog[open]").getByRole("button", { name: "Uninstall" }).click();
      await page.locator('[data-userland="absent"]').waitFor();
    } finally {
      there.close();
    }
  });
});

test("background programs are listed with their output and can be ended", async () => {
  const script = "version: 1\nturns:\n  - calls: [{tool: execute_shell_command, args: {command: \"echo ready; sleep 600\", background: true}}]\n  - say: Started.\n";
  await withPage(browser, script, async ({ daemon, page }) => {
    await daemon.api("PUT", "/switches/tool:execute_shell_command", { state: "on" });
    await page.fill("[data-composer]", "Start it");
    await page.press("[data-composer]", "Enter");
    const question = page.locator(".approval");
    const started = page.locator(".md", { hasText: "Started." });
    if ((await Promise.race([question.waitFor().then(() => "asks"), started.waitFor().then(() => "over")])) === "asks") {
      await page.waitForTimeout(500);
      await question.getByRole("button", { name: "Allow once" }).click();
      await started.waitFor();
    }
    await page.locator('header a[href="#/sandbox"]').click();
    await page.getByRole("tab", { name: "Processes" }).or(page.getByRole("button", { name: "Processes" })).or(page.getByRole("link", { name: "Processes" })).first().click();
    const row = page.locator("[data-process]");
    await row.getByText("sleep 600").waitFor();
    const id = await row.getAttribute("data-process");
    await row.getByRole("button", { name: "Log" }).click();
    await page.getByRole("region", { name: `Output of ${id}` }).getByText("ready", { exact: false }).first().waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "processes.png") });
    await row.getByRole("button", { name: "Stop" }).click();
    await row.getByText(/killed|ended/).waitFor();
    await eventually(async () => (await row.getByRole("button", { name: "Stop" }).count()) === 0, "what has ended is not ended again");
  });
});
