// What is wrong with the looks of a page, whatever it shows: axe, its width, and cut texts.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The texts of a language, by key. They are data in a file of TypeScript. */
export function catalogue(language) {
  const source = fs.readFileSync(new URL(`../src/texts/${language}.ts`, import.meta.url), "utf8");
  const body = source.slice(source.indexOf("{\n", source.indexOf(`export const ${language}`)), source.indexOf("\n}", source.indexOf(`export const ${language}`)) + 2);
  return new Function(`return (${body})`)();
}

/** Serious findings of axe. */
export async function axeFaults(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ") + " " + (node.any[0]?.message ?? "")).join(" | ")}`);
}

/** What is wider than the window, cut out of its control, or cut down to nothing. */
export async function sizeFaults(page, name) {
  return page.evaluate((view) => {
    const faults = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) faults.push(`${view}: ${wide} px wider than the window`);
    const top = document.querySelector("dialog[open]") ?? document.querySelector(".app") ?? document.body;
    const said = (one) => `${one.tagName.toLowerCase()}.${one.className} “${one.textContent.trim().slice(0, 40)}”`;
    const seen = [...top.querySelectorAll("button, a, label, legend, h1, h2, h3, h4, p, dt, dd, th, summary, b, .st, .chip")].filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".vh, [aria-hidden=true]"));
    for (const one of seen) {
      const style = getComputedStyle(one);
      const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || style.display === "inline") continue;
      const over = one.scrollWidth - one.clientWidth;
      // A cut text is meant to be, if enough of it is left to be read.
      if (style.textOverflow === "ellipsis") {
        if (over > 0 && one.clientWidth < 40) faults.push(`${view}: ${one.clientWidth} px are left of ${said(one)}`);
      } else if (over > 1 && style.overflowX !== "auto" && style.overflowX !== "scroll") faults.push(`${view}: ${said(one)} is ${over} px too narrow`);
    }
    // Controls that lie on each other.
    const controls = seen.filter((one) => one.matches("button, a") && getComputedStyle(one).position !== "absolute" && getComputedStyle(one).display !== "inline" && !one.closest(".hrow, .inboxrow"));
    const boxes = controls.map((one) => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    for (const [at, [one, a]] of boxes.entries()) {
      for (const [other, b] of boxes.slice(at + 1)) {
        if (one.contains(other) || one.closest(".dock, .bar, .acts, .tabs, .undobar, .side, .dhead, .topbar, .editorbar, .newbelow, .moresheet, .hlist") !== other.closest(".dock, .bar, .acts, .tabs, .undobar, .side, .dhead, .topbar, .editorbar, .newbelow, .moresheet, .hlist")) continue;
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 3 && y > 3) faults.push(`${view}: ${said(one)} lies on ${said(other)}`);
      }
    }
    return faults;
  }, name);
}

/** Fails if what is shown now looks wrong in one of the themes, wide or narrow. TOOLCRIB_SHOTS names a
 *  folder for pictures. */
export async function looksRight(page, name) {
  const faults = [];
  const before = page.viewportSize();
  for (const [width, height] of [[1280, 900], [360, 740]]) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.waitForTimeout(200);
      const id = `${name} at ${width} px, ${colorScheme}`;
      if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, `${name}-${width}-${colorScheme}.png`) });
      faults.push(...(await sizeFaults(page, id)), ...(await axeFaults(page, id)));
    }
  }
  await page.setViewportSize(before);
  assert.deepEqual(faults, []);
}
