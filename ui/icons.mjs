// Draws the icons of an installed page from the shapes of favicon.svg: `node icons.mjs`, with Chromium in
// TOOLCRIB_CHROMIUM. Their names end with a number, because the daemon lets browsers keep files of
// `assets/` forever: a changed icon gets the next number, here and in the manifest.
import fs from "node:fs";

import { chromium } from "playwright-core";

const NUMBER = 1;
const shapes = fs.readFileSync(new URL("public/favicon.svg", import.meta.url), "utf8");
const inner = shapes.replace(/^<svg[^>]*>/, "").replace("</svg>", "");
/** The whole square is filled, and the shapes are within the circle of 80 % that every mask leaves. */
const maskable = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" fill="#2c50db"/><g transform="translate(3.2 3.2) scale(.8)">${inner}</g></svg>`;

const browser = await chromium.launch({ executablePath: process.env.TOOLCRIB_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const folder = new URL("public/assets/", import.meta.url);
fs.mkdirSync(folder, { recursive: true });
for (const [name, svg, size] of [["icon-192", shapes, 192], ["icon-512", shapes, 512], ["icon-maskable-512", maskable, 512]]) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw;height:100vh}</style>${svg}`);
  await page.screenshot({ path: new URL(`${name}-${NUMBER}.png`, folder).pathname, omitBackground: true });
  await page.close();
}
await browser.close();
