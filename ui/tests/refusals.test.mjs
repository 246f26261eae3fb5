// What policy refuses is said in its words, wherever the page asked for it.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

const SCRIPT = "version: 1\nturns:\n  - say: Nothing.\n";

test("a call that a rule denies says so in place of HTTP 403", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    fs.writeFileSync(path.join(daemon.workspace, "a.txt"), "hello\n");
    await daemon.api("POST", "/rules/own", [{ effect: "deny", rule: "write_file" }]);
    const problem = page.locator(".problem");
    await page.setInputFiles("input[type=file]", { name: "x.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
    await page.fill("[data-composer]", "look");
    await page.press("[data-composer]", "Enter");
    await problem.waitFor();
    const words = [await problem.innerText()];
    await page.evaluate(() => (location.hash = "#/sandbox?tab=files"));
    await page.getByText("a.txt").first().click();
    await page.locator("textarea").first().fill("changed\n");
    await page.getByRole("button", { name: "Save" }).click();
    await problem.waitFor();
    words.push(await problem.innerText());
    for (const said of words) {
      assert.doesNotMatch(said, /HTTP/);
      assert.match(said, /write_file|rule|policy/i);
    }
    assert.equal(fs.readFileSync(path.join(daemon.workspace, "a.txt"), "utf8"), "hello\n");
  }, { expected: ["403"] });
});
