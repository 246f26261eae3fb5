// Every view in both themes, wide and narrow: axe finds nothing serious, nothing is wider than the
// window, no text is cut out of its button. TOOLCRIB_SHOTS names a folder for pictures.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { axeFaults, sizeFaults } from "./look.mjs";
import { Daemon, eventually, launch, signIn } from "./support.mjs";

const SHOTS = process.env.TOOLCRIB_SHOTS;
const TOUR = fs.readFileSync(new URL("../../docs/tour.yaml", import.meta.url), "utf8");
const SIZES = [[1280, 900], [360, 740]];

let browser, daemon, context, page, views;

before(async () => {
  browser = await launch();
  daemon = await Daemon.start(TOUR);
  const run = await daemon.api("POST", "/runs", { text: "Keep my shopping list", wait: true });
  const call = (await daemon.api("GET", "/calls?tool=edit_file&limit=1")).items[0].call;
  const approval = (await daemon.api("GET", "/approvals")).items[0].approval;
  await daemon.api("POST", "/rules/own", [{ effect: "ask", rule: "Bash(git push:*)" }]);
  await daemon.api("POST", "/agents", { name: "reviewer" });
  await daemon.api("POST", "/tasks", { description: "Deployment", prompt: "Check it.", hook: "deploy" });
  await daemon.api("POST", "/tasks", { description: "Project news", prompt: "Summarize the news.", cron: "0 9 * * MON-FRI" });
  await daemon.api("PUT", "/memories/favorite_color", { content: "The favorite color is blue.", category: "PREFERENCE" });
  await daemon.api("POST", "/lists/Groceries", { action: "add", items: ["milk", "bread"] });
  await daemon.api("POST", "/lists/Groceries", { action: "check", items: ["milk"] });
  const text = "# Contract\n\nThe rent is due on the third day of each month.\n";
  const { document } = await daemon.send("POST", "/documents?name=contract.md", text);
  // Its run would ask, too: it is cancelled before it begins.
  const { goal } = await daemon.api("POST", "/goals", { goal: "Find out what the rent is." });
  await daemon.api("DELETE", `/goals/${goal}`);
  context = await browser.newContext();
  page = await signIn(context, daemon);
  views = {
    new: "#/chat", chat: `#/chat/${run.conversation}`, inbox: "#/inbox", question: `#/inbox/${approval}`, tools: "#/tools",
    tool: "#/tools?tool=delete_file", history: "#/history", trace: `#/history?call=${call}`, agents: "#/agents/general-assistant", agent: "#/agents/reviewer", skill: "#/agents/skill:create-skill", drafts: "#/drafts", webhooks: "#/automation?tab=webhooks", days: "#/usage",
    rules: "#/rules", servers: "#/servers", apps: "#/apps", channels: "#/channels", sandbox: "#/sandbox?tab=files", packages: "#/sandbox?tab=packages", automation: "#/automation", goals: "#/automation?tab=goals", heartbeat: "#/automation?tab=heartbeat", notices: "#/automation?tab=notices",
    memory: "#/memory", lists: "#/lists/Groceries", documents: `#/documents/${document}`, usage: "#/usage?by=agent", settings: "#/settings",
  };
});
after(async () => {
  await browser?.close();
  await daemon?.stop();
});

async function show(name, [width, height], scheme) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.goto(`${daemon.url}/${views[name]}`);
  await page.waitForSelector(".main h1");
  const ready = { chat: ".approval", question: ".approval", tools: ".toolcard", tool: ".drawer .schema", history: ".hrow", trace: ".stagelist", agents: ".inboxdetail h2", agent: ".toolpick", skill: "[data-skill]", webhooks: "[data-hook]", automation: "[data-task]", goals: "[data-goal]", heartbeat: "[data-heartbeat]", lists: "[data-item]", packages: "[data-userland]", documents: "pre.quote", memory: "[data-memory]", settings: "form code" };
  await page.waitForSelector(ready[name] ?? ".main");
  await page.waitForTimeout(500);
}

for (const size of SIZES) {
  for (const scheme of ["light", "dark"]) {
    test(`every view at ${size[0]} px, ${scheme}`, async () => {
      const faults = [];
      for (const name of Object.keys(views)) {
        await show(name, size, scheme);
        faults.push(...(await sizeFaults(page, name)), ...(await axeFaults(page, name)));
        if (SHOTS) {
          fs.mkdirSync(SHOTS, { recursive: true });
          await page.screenshot({ path: path.join(SHOTS, `${name}-${size[0]}-${scheme}.png`) });
        }
      }
      assert.deepEqual(faults, []);
      assert.deepEqual(page.faults, []);
    });
  }
}

test("at 2560 px lines of text are no longer than they can be read, and more contrast changes no size", async () => {
  const faults = [];
  await page.emulateMedia({ contrast: "more" });
  for (const name of Object.keys(views)) {
    await show(name, [2560, 1440], "light");
    faults.push(...(await sizeFaults(page, name)));
    const long = await page.evaluate(() => [...document.querySelectorAll(".main p, .main .md, .main .me")].filter((one) => one.checkVisibility() && one.textContent.trim().length > 200 && one.clientWidth > 1_000).map((one) => one.textContent.slice(0, 40)));
    if (long.length) faults.push(`${name}: ${long.join(" | ")} is too wide`);
    if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}-2560.png`) });
  }
  await page.emulateMedia({ contrast: "no-preference" });
  assert.deepEqual(faults, []);
});

test("every text is there in German, and nothing is wider than the window", async () => {
  const faults = [];
  await page.goto(`${daemon.url}/#/settings`);
  await page.getByLabel("Language").selectOption("de");
  for (const name of Object.keys(views)) {
    await show(name, [360, 740], "light");
    faults.push(...(await sizeFaults(page, name)));
    if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}-360-de.png`) });
  }
  assert.deepEqual(faults, []);
  await show("tools", [1280, 900], "light");
  await page.getByText("Datei lesen").first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "de");
  await page.goto(`${daemon.url}/#/settings`);
  await page.getByLabel("Sprache").selectOption("en");
});

test("from right to left, nothing is wider than the window and no text is cut out of its button", async () => {
  const faults = [];
  for (const size of SIZES) {
    for (const name of ["chat", "inbox", "tools", "agents", "agent", "skill", "rules", "automation", "webhooks", "drafts", "days", "settings"]) {
      await show(name, size, "light");
      await page.evaluate(() => (document.documentElement.dir = "rtl"));
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) faults.push(`${name} at ${size[0]}: ${wide} px wider than the window`);
      const cut = await page.evaluate(() => [...document.querySelectorAll(".main button.btn")].filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent));
      if (cut.length) faults.push(`${name} at ${size[0]}: ${cut.join(", ")} is cut`);
      if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}-${size[0]}-rtl.png`) });
      await page.evaluate(() => document.documentElement.removeAttribute("dir"));
    }
  }
  assert.deepEqual(faults, []);
});

test("every view and decision is reached by keys alone", async () => {
  await show("new", [1280, 900], "light");
  await page.locator("#main").focus();
  for (const [key, view] of [["i", "inbox"], ["t", "tools"], ["h", "history"], ["a", "agents"], ["o", "automation"], ["m", "memory"], ["s", "settings"], ["c", "chat"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await eventually(() => page.url().includes(`#/${view}`), view);
    await page.evaluate(() => document.activeElement?.blur());
  }
  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog[open] input");
  await page.keyboard.type("inbox");
  await page.keyboard.press("Enter");
  await eventually(() => page.url().includes("#/inbox"), "the palette");
  // Enter and Space on the card decide nothing; a letter does.
  const card = page.locator(".approval");
  await card.focus();
  await page.waitForTimeout(600);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Space");
  assert.equal((await daemon.api("GET", "/approvals")).items.length, 1);
  await page.keyboard.press("d");
  await eventually(async () => {
    const all = (await daemon.api("GET", "/approvals?state=all")).items;
    return all.find((one) => one.tool === "delete_file").decision?.decision === "deny";
  }, "the denial");
});
