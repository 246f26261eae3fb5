// What a key in the search of 1,000 tools costs, a switch, and scrolling through them: the page gets copies
// of a tool besides the daemon's own. Run it by hand:
// TOOLCRIB_BINARY=… node tests/measure_tools.mjs
import os from "node:os";

import { Daemon, launchMeasured, signIn } from "./support.mjs";
import { Timer } from "./timing.mjs";

const COPIES = 1_000;
const GROUPS = 37;
const daemon = await Daemon.start(`version: 1\nturns:\n  - say: Done.\n`);
const { browser, context } = await launchMeasured();

/** Answers about tools with copies of them. In the page: the browser's interception takes its own time. */
function copies([all, found]) {
  const real = window.fetch;
  const json = (value) => new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
  window.fetch = async (to, options) => {
    const at = String(to.url ?? to);
    if (!/\/api\/v1\/tools\?/.test(at)) return real(to, options);
    return json({ items: at.includes("find=") ? found : all, next: null });
  };
}

try {
  const page = await signIn(context, daemon);
  const timer = await Timer.of(page, context);
  const { items } = await daemon.api("GET", "/tools?metrics=true");
  const model = items.find((tool) => tool.name === "get_current_time");
  const more = Array.from({ length: COPIES }, (_, at) => ({
    ...model, name: `many__tool_${at}`, title: null, group: null, source: `many${at % GROUPS}`,
    description: `Looks up what is known of subject ${at} in the register of group ${at % GROUPS}, and says where it is from.`,
  }));
  await page.addInitScript(copies, [[...items, ...more], more.slice(90, 130)]);
  await page.goto("about:blank");
  const began = Date.now();
  await page.goto(`${daemon.url}/#/tools`);
  await page.locator(".toolcard").first().waitFor();
  console.log(`${items.length + COPIES} tools, the first are shown after ${Date.now() - began} ms; load average ${os.loadavg()[0].toFixed(1)}`);
  const search = page.locator("[data-search]");
  await page.waitForTimeout(2_000);
  await search.focus();
  await timer.control();
  for (const times of [1, 2]) {
    await timer.time(`a key of a search (${times})`, 9, () => search.pressSequentially("subject 9", { delay: 250 }));
    await timer.time(`a key of it erased (${times})`, 9, () => timer.repeat(9, () => search.press("Backspace"), 250));
  }
  await timer.time("a key of a word that is in no tool", 9, () => search.pressSequentially("xylophone", { delay: 250 }));
  await search.fill("");
  await timer.wheel("a turn of the wheel", [640, 500], 900);
  await page.evaluate(() => scrollTo(0, 0));
  await timer.time("a key after all of that was scrolled to", 7, () => search.pressSequentially("group 3", { delay: 250 }));
  await timer.time("a key of it erased", 7, () => timer.repeat(7, () => search.press("Backspace"), 250));
} finally {
  await browser.close();
  await daemon.stop();
}
