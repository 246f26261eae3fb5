// Every view with a token of every role: nothing is asked that the role would be refused, and no link
// leads there.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { Daemon, eventually, launch, watched, withPage } from "./support.mjs";

const SCRIPT = `
version: 1
turns:
  - calls: [{tool: file_info, args: {path: a.txt}}]
  - calls: [{tool: delete_file, args: {path: a.txt}}]
  - say: Done.
`;
const VIEWS = [
  "chat", "inbox", "tools", "tools?tool=delete_file", "history", "agents/general-assistant", "rules", "servers", "apps", "channels",
  "sandbox", "sandbox?tab=terminal", "sandbox?tab=files", "sandbox?tab=processes", "sandbox?tab=packages", "automation",
  "automation?tab=goals", "automation?tab=heartbeat", "automation?tab=webhooks", "agents/skill:create-skill", "drafts", "memory", "lists", "documents", "usage", "settings",
];

const QUIET_MS = 200;
const LONGEST_MS = 700;

/** Waits until no request is open, or for a moment where one stays open, as streams do. */
function quiet(page) {
  const open = new Set();
  let last = Date.now();
  const done = (request) => open.delete(request) && (last = Date.now());
  page.on("request", (request) => {
    open.add(request);
    last = Date.now();
  });
  page.on("response", (answer) => done(answer.request()));
  page.on("requestfailed", done);
  return async () => {
    const end = Date.now() + LONGEST_MS;
    last = Date.now();
    await eventually(() => Date.now() > end || (open.size === 0 && Date.now() - last > QUIET_MS), "a quiet page");
  };
}

let browser;
let daemon;
let conversation;
let call;
before(async () => {
  browser = await launch();
  daemon = await Daemon.start(SCRIPT);
  fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "1");
  ({ conversation } = await daemon.api("POST", "/runs", { text: "Remove a.txt", wait: true }));
  call = (await eventually(async () => (await daemon.api("GET", "/calls")).items[0], "the call")).call;
});
after(async () => {
  await browser?.close();
  await daemon?.stop();
});

for (const role of ["viewer", "caller", "approver", "operator", "owner"]) {
  test(`every view is without a fault for the role ${role}`, async () => {
    const { token } = await daemon.api("POST", "/tokens", { name: `${role}-token`, roles: [role] });
    const context = await browser.newContext();
    try {
      const page = await watched(context);
      await page.goto(daemon.url);
      await page.getByLabel(/token/i).fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForSelector(".app");
      // Before the sign-in there is no session.
      page.faults.length = 0;
      const settled = quiet(page);
      const found = [];
      for (const view of [...VIEWS, `chat/${conversation}`, `history?call=${call}`]) {
        await page.evaluate((to) => (location.hash = `#/${to}`), view);
        await settled();
        for (const text of await page.locator(".problem").allInnerTexts()) found.push(`${view}: ${text}`);
        found.push(...page.faults.splice(0).map((fault) => `${view}: ${fault}`));
      }
      assert.deepEqual(found, []);
      await page.evaluate(() => (location.hash = "#/inbox"));
      await page.locator(".approval").waitFor();
      const links = await page.getByRole("link", { name: "Open the chat" }).count();
      assert.equal(links > 0, ["caller", "owner"].includes(role), "the link to the chat");
    } finally {
      await context.close();
    }
  });
}

test("the processes of a daemon whose shell is off say how to turn it on", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.evaluate(() => (location.hash = "#/sandbox?tab=processes"));
    await page.getByText("is off. Turn it on").waitFor();
    await daemon.api("PUT", "/switches/tool:manage_process", { state: "on" });
    await eventually(async () => (await page.getByRole("button", { name: "Refresh" }).count()) === 1, "its button");
    await eventually(async () => (await daemon.api("GET", "/calls?tool=manage_process")).items.length === 1, "its list");
  });
});
