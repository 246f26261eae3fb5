// Markdown of a model, as the page draws it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, launch, withPage } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

test("an item of a task list is a box and its text, and cells of a head stand as their column does", async () => {
  const text = "- [x] milk\n- [ ] bread\n\nLater:\n\n1. [x] eggs\n\n2. [ ] oats\n\n| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |\n";
  await withPage(browser, `version: 1\nturns:\n  - say: ${JSON.stringify(text)}\n`, async ({ page }) => {
    await ask(page, "Show the list");
    await page.locator(".usage").waitFor();
    const items = (await page.locator(".md li").allInnerTexts()).map((one) => one.trim());
    assert.deepEqual(items, ["milk", "bread", "eggs", "oats"]);
    for (const [name, checked] of [["milk", true], ["bread", false], ["eggs", true], ["oats", false]]) {
      assert.equal(await page.getByRole("checkbox", { name, exact: true }).isChecked(), checked, name);
    }
    const sides = (cells) => cells.map((cell) => getComputedStyle(cell).textAlign);
    assert.deepEqual(await page.locator(".md th").evaluateAll(sides), ["start", "end", "center"]);
    assert.deepEqual(await page.locator(".md td").evaluateAll(sides), ["start", "end", "center"]);
  });
});
