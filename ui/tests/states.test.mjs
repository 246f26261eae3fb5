// Every form, dialog and detail that a click opens, and every view that is empty: in both themes, wide
// and narrow, in both languages. TOOLCRIB_SHOTS names a folder for pictures.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { axeFaults, catalogue, sizeFaults } from "./look.mjs";
import { Daemon, eventually, launch, signIn } from "./support.mjs";

const SHOTS = process.env.TOOLCRIB_SHOTS;
/** Names of states, to look at some alone. */
const ONLY = process.env.TOOLCRIB_STATES?.split(",");
const SCRIPT = `version: 1
turns:
  - calls:
      - {tool: file_info, args: {path: a.txt}}
      - {tool: list_dir, args: {}}
      - {tool: read_file, args: {path: missing.txt}}
  - say: Two files.
`;
/** Nothing listens at port 1, so nothing leaves. */
const ACCOUNT = `[[account]]\nid = "ann"\naddress = "ann@example.org"\nown_network = true\nimap = { host = "127.0.0.1", port = 1 }\nsmtp = { host = "127.0.0.1", port = 1, security = "tls" }\n`;
const EMPTY = ["inbox", "history", "drafts", "servers", "automation", "automation?tab=goals", "automation?tab=webhooks", "automation?tab=heartbeat", "automation?tab=notices", "memory", "memory?find=zzz", "lists", "documents", "documents?show=deleted", "usage", "usage?by=tool", "sandbox?tab=files", "tools?find=qqqqqq", "history?tool=nosuch"];

/** A request that a person has to decide about, with what is easily overlooked. */
const REQUEST = { url: "http://ann@API.example.com:8080/v1/tickets?state=open&note=a%20long%20note", method: "POST", headers: { Accept: "application/json", "X-Request-Origin-Of-The-Call": "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8" }, body: '{"title": "Broken link", "text": "The link in the second paragraph of the page leads nowhere."}' };

let browser, full, empty, draft, run, conversation, call, request, letter;

before(async () => {
  browser = await launch();
  full = await Daemon.start(SCRIPT);
  fs.writeFileSync(path.join(full.workspace, "a.txt"), "one\ntwo\n");
  fs.writeFileSync(path.join(full.folder, "home", "mail.toml"), ACCOUNT);
  await full.api("PUT", "/secrets/mail-ann", { value: "not a password" });
  await full.api("POST", "/settings/reload");
  // What is approved three times is suggested as a rule, once and for longer.
  await full.api("PUT", "/switches/tool:file_info", { state: "ask" });
  for (const scope of ["once", "once", "always"]) {
    const { run: id } = await full.api("POST", "/runs", { text: "Look at the file" });
    const asked = await eventually(async () => (await full.api("GET", "/approvals")).items[0], "the question");
    await full.api("POST", `/approvals/${asked.approval}`, { decision: "approve", nonce: asked.nonce, ...(scope === "once" ? {} : { scope }) });
    await eventually(async () => (await full.api("GET", `/runs/${id}`)).state === "ended", "the end");
  }
  ({ run, conversation } = await full.api("POST", "/runs", { text: "List the files", wait: true }));
  call = (await full.api("GET", "/calls?tool=read_file&limit=1")).items[0].call;
  await full.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(git push:*)" }]);
  await full.api("POST", "/agents", { name: "reviewer" });
  await full.api("POST", "/tasks", { description: "Deployment", prompt: "Check it.", hook: "deploy" });
  await full.api("POST", "/tasks", { description: "Project news", prompt: "Summarize the news.", cron: "0 9 * * MON-FRI" });
  await full.api("PUT", "/memories/favorite_color", { content: "The favorite color is blue.", category: "PREFERENCE" });
  await full.api("POST", "/lists/Groceries", { action: "add", items: ["milk", "bread"] });
  await full.send("POST", "/documents?name=contract.md", "# Contract\n\nThe rent is due on the third day of each month.\n");
  await full.api("POST", "/calls", { tool: "compose_email", arguments: { to: "bob@example.net", subject: "The offer for the garden house and its foundation", body: "Dear Bob,\nyes.\nAnn" } });
  draft = (await full.api("GET", "/drafts")).items[0].draft;
  await full.api("POST", "/mcp/import", { servers: [{ name: "docs", command: "/bin/cat" }] }).catch(() => null);
  await full.api("POST", "/rules/own", [{ effect: "ask", rule: "compose_email" }]);
  const pending = async (tool, args) => (await full.api("POST", "/calls", { tool, arguments: args, wait_ms: 0 }), eventually(async () => (await full.api("GET", "/approvals")).items.find((one) => one.tool === tool)?.approval, tool));
  request = await pending("http_request", REQUEST);
  letter = await pending("compose_email", { to: "bob@example.net, b\u043eb@example.org", subject: "The offer for the garden house", body: "Dear Bob,\nyes.\nAnn", attachments: ["a.txt"] });
  for (const urgency of ["high", "normal", "low"]) await full.api("POST", "/notifications", { title: `A notification of urgency ${urgency}`, message: "The backup of the garden house is done.", urgency });
  for (const { notification } of (await full.api("GET", "/notifications")).items) await full.api("POST", `/notifications/${notification}/dismiss`, {});
  await full.api("POST", "/heartbeat/arrivals", { from: "Bank", title: "A letter", text: "You paid 12.00." });
  fs.writeFileSync(path.join(full.workspace, "drawing.svg"), '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="80"><rect width="1200" height="80" fill="teal"/></svg>');
  empty = await Daemon.start("version: 1\nturns:\n  - say: Nothing.\n");
});
after(async () => {
  await browser?.close();
  await full?.stop();
  await empty?.stop();
});

/** What is opened, by the words of the language. */
function opened(t) {
  const button = (page, name, exact = true) => page.getByRole("button", { name, exact });
  const click = (key, exact) => async (page) => button(page, t[key], exact).first().click();
  return {
    "conversation": [() => `chat/${conversation}`, null, ".log article"],
    "agent-new": [() => "agents/reviewer", click("agents.new"), "dialog[open] input"],
    "agent-copy": [() => "agents/general-assistant", click("agents.copyButton"), "dialog[open] input"],
    "agent-form": [() => "agents/reviewer", null, ".toolpick"],
    "agent-fault": [() => "agents/reviewer", async (page) => page.locator(".formside input").first().fill(""), ".toolpick"],
    "skill": [() => "agents/skill:create-skill", null, "[data-skill]"],
    // A rule that is no rule: the daemon says so.
    "rule-editor": [() => "rules", async (page) => { await button(page, t["rules.add"]).click(); await page.locator(".ruleline input").last().fill("Bash(git"); await button(page, t["rules.replay"]).click(); }, ".ruleline"],
    "rule-tester": [() => "rules", async (page) => { await page.locator("input[placeholder^='git push']").fill("git status && git push --force origin main"); await button(page, t["rules.testButton"]).click(); }, "[data-verdict]"],
    "rule-import": [() => "rules", async (page) => { await page.locator("summary", { hasText: t["rules.import"] }).click(); await page.locator("details textarea").fill('{"permissions": {"allow": ["Bash(npm test:*)"], "deny": ["Read(./.env)"], "defaultMode": "plan"}}'); await button(page, t["rules.look"]).click(); }, "[data-import]"],
    "rule-suggestions": [() => "rules", async (page) => page.locator("[data-suggestion]").first().scrollIntoViewIfNeeded(), "[data-suggestion]"],
    "grants": [() => "rules", async (page) => page.getByRole("heading", { name: t["grants.title"] }).scrollIntoViewIfNeeded(), ".main h2"],
    "tool-try": [() => "tools?tool=read_file", async (page) => { await page.locator(".drawer input").first().fill("a.txt").catch(() => null); await button(page, t["tools.dry"]).click(); }, "[data-forecast]"],
    "tool-setup": [() => "tools?tool=web_search", null, ".drawer .schema"],
    "tool-search": [() => "tools?find=mail", null, ".toolcard"],
    "usage-model": [() => "usage?by=model", null, "[data-row]"],
    "usage-tool": [() => "usage?by=tool&show=calls", null, "[data-row]"],
    "usage-day": [() => "usage", null, "[data-row]"],
    "webhook-new": [() => "automation?tab=webhooks", click("hooks.new"), "dialog[open] form"],
    "webhook-secret": [() => "automation?tab=webhooks", click("hooks.newSecret"), "dialog[open] form"],
    "webhook-delete": [() => "automation?tab=webhooks", click("hooks.remove"), "dialog[open]"],
    "task-new": [() => "automation", async (page) => { await click("auto.new")(page); await button(page, t["auto.kind.repeat"]).click(); await page.locator("dialog select").first().selectOption("interval"); }, "dialog[open] form"],
    "goal-new": [() => "automation?tab=goals", click("goals.new"), "dialog[open] form"],
    "heartbeat": [() => "automation?tab=heartbeat", null, "[data-heartbeat]"],
    "heartbeat-arrivals": [() => "automation?tab=heartbeat", async (page) => page.locator("[data-arrival]").scrollIntoViewIfNeeded(), "[data-arrival]"],
    "arrival-new": [() => "automation?tab=heartbeat", async (page) => { await page.locator("[data-arrival]").waitFor(); await click("arrive.new")(page); await page.locator("dialog .seg button").last().click(); }, "dialog[open] form"],
    "notices": [() => "automation?tab=notices&show=all", null, '[data-notice="high"]'],
    "notice-settings": [() => "automation?tab=notices", async (page) => page.getByLabel(t["notices.quietFrom"]).fill("22:00"), "form .btn.p"],
    "notice-new": [() => "automation?tab=notices", click("notices.new"), "dialog[open] form"],
    "approval-request": [() => `inbox/${request}`, null, "[data-request]"],
    "approval-letter": [() => `inbox/${letter}`, null, "[data-letter]"],
    "approval-edit": [() => `inbox/${request}`, async (page) => { await page.waitForTimeout(500); await page.locator(".approval .acts button", { hasText: t["approval.edit"] }).last().click(); }, ".approval textarea"],
    "draft": [() => `drafts/${draft}`, null, ".letter"],
    "draft-edit": [() => `drafts/${draft}`, click("approval.edit"), "textarea"],
    "draft-send": [() => `drafts/${draft}`, click("drafts.send"), "[data-leaves]"],
    "memory-new": [() => "memory", click("memory.new"), "dialog[open] form"],
    "memory-forget": [() => "memory", async (page) => page.locator("[data-memory] button").last().click(), "dialog[open]"],
    "list": [() => "lists/Groceries", null, "[data-item]"],
    "list-new": [() => "lists", click("lists.new"), "dialog[open] input"],
    "document-found": [() => "documents?find=rent", null, "[data-passage]"],
    "server-program": [() => "servers", click("servers.add"), "dialog[open] form"],
    "server-json": [() => "servers", async (page) => { await click("servers.add")(page); await button(page, t["servers.kind.json"]).click(); await page.locator("dialog textarea").fill('{"mcpServers": {"docs": {"command": "npx", "args": ["-y", "docs-mcp"], "env": {"DOCS_TOKEN": "abcdefgh"}}}}'); await button(page, t["servers.look"]).click(); await page.locator("dialog li.card").waitFor(); }, "dialog[open] li.card"],
    "call-detail": [() => `history?call=${call}`, null, ".stagelist"],
    "history-run": [() => `history?run=${run}`, null, ".hrow"],
    "replay": [() => `history?run=${run}&replay=${run}&step=1`, null, ".replay[open] .replaystage *"],
    "sandbox-terminal": [() => "sandbox", null, ".terminal"],
    "sandbox-file": [() => "sandbox?tab=files&path=a.txt", null, ".main"],
    "sandbox-image": [() => "sandbox?tab=files&path=drawing.svg", null, "[data-preview]"],
    "sandbox-processes": [() => "sandbox?tab=processes", null, ".main"],
    "sandbox-packages": [() => "sandbox?tab=packages", null, "[data-userland]"],
    "settings-model": [() => "settings", async (page) => page.locator("summary", { hasText: t["models.addTitle"] }).click(), ".main form"],
    "settings-permissions": [() => "settings", async (page) => page.locator("[data-permission]").first().scrollIntoViewIfNeeded(), "[data-permission]"],
    "settings-backup": [() => "settings", async (page) => button(page, t["transfer.backupButton"]).scrollIntoViewIfNeeded(), ".main"],
    "palette": [() => "chat", async (page) => page.keyboard.press("Control+k"), "dialog[open] input"],
    "keys": [() => "inbox", async (page) => page.keyboard.press("?"), "dialog[open] kbd"],
    "deleted": [() => `chat/${conversation}`, async (page) => { if (page.viewportSize().width < 700) await button(page, t["nav.conversations"]).click(); await button(page, t["chat.deletedTitle"]).last().click(); }, "dialog[open]"],
  };
}

async function look(page, daemon, name, [address, act, ready], [width, height], scheme, language) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  // From another address, so that what the state before opened is closed.
  await page.goto("about:blank");
  await page.goto(`${daemon.url}/#/${address}`);
  await page.waitForSelector(".main h1");
  await page.waitForTimeout(300);
  await act?.(page);
  await page.waitForSelector(ready);
  await page.waitForTimeout(300);
  const id = `${name} at ${width} px, ${scheme}, ${language}`;
  if (SHOTS) {
    fs.mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: path.join(SHOTS, `${name.replaceAll(/[^\w]+/g, "-")}-${width}-${scheme}-${language}.png`) });
  }
  const seen = await sizeFaults(page, id);
  // Words do not change what axe finds.
  return language === "en" ? [...seen, ...(await axeFaults(page, id))] : seen;
}

const ROUNDS = [
  [[1280, 900], "light", "en"],
  [[360, 740], "dark", "en"],
  [[1280, 900], "dark", "de"],
  [[360, 740], "light", "de"],
];

for (const [size, scheme, language] of ROUNDS) {
  const of = `at ${size[0]} px, ${scheme}, ${language}`;
  const round = (title, daemonOf, states) =>
    test(`${title} ${of}`, async () => {
      const daemon = daemonOf();
      const context = await browser.newContext();
      const faults = [];
      try {
        const page = await signIn(context, daemon, { expected: ["422"] });
        page.setDefaultTimeout(8_000);
        await page.evaluate((chosen) => localStorage.setItem("toolcrib-language", chosen), language);
        for (const [name, state] of Object.entries(states(catalogue(language)))) {
          if (ONLY && !ONLY.includes(name)) continue;
          const [address, ...rest] = state;
          try {
            faults.push(...(await look(page, daemon, name, [address(), ...rest], size, scheme, language)));
          } catch (error) {
            faults.push(`${name} ${of}: ${error.message.split("\n")[0]}`);
          }
        }
        assert.deepEqual([...faults, ...page.faults], []);
      } finally {
        await context.close();
      }
    });
  round("what a click opens", () => full, opened);
  round("empty views", () => empty, () => Object.fromEntries(EMPTY.map((address) => [`empty ${address}`, [() => address, null, ".main"]])));
}
