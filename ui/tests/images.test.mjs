// Images beside a message: pasted, dropped or chosen, drawn anew and smaller, and sent as an image
// part to the model.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";

import { Daemon, eventually, launch, signIn } from "./support.mjs";

let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

/** A provider in the format of Chat Completions that keeps what it is sent, and answers when it may. */
async function provider(may = () => Promise.resolve()) {
  const asked = [];
  const server = http.createServer(async (request, answer) => {
    let text = "";
    for await (const piece of request) text += piece;
    if (request.method === "POST") asked.push(JSON.parse(text));
    await may(asked.length);
    answer.writeHead(200, { "content-type": "application/json" });
    const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "A picture." } };
    answer.end(JSON.stringify({ id: "1", object: "chat.completion", model: "m", choices: [choice], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, asked, close: () => server.close() };
}

async function use(daemon, { url }) {
  await daemon.api("PUT", "/settings/providers.openai-compatible.kind", { value: "openai-compatible" });
  await daemon.api("PUT", "/settings/providers.openai-compatible.base_url", { value: url });
  await daemon.api("PUT", "/settings/model.default", { value: "openai-compatible/m" });
}

/** A photo of noise, too large for a request, with a place written into it. */
const makePhoto = async () => {
  const canvas = new OffscreenCanvas(2400, 1600);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(2400, 1600);
  for (let at = 0; at < pixels.data.length; at += 4096) crypto.getRandomValues(pixels.data.subarray(at, at + 4096));
  context.putImageData(pixels, 0, 0);
  const jpeg = new Uint8Array(await (await canvas.convertToBlob({ type: "image/jpeg", quality: 0.95 })).arrayBuffer());
  const note = new TextEncoder().encode("Exif\0\0GPS 53.0793 N 8.8017 E");
  const segment = Uint8Array.from([0xff, 0xe1, 0, note.length + 2, ...note]);
  return new File([jpeg.slice(0, 2), segment, jpeg.slice(2)], "photo.jpg", { type: "image/jpeg" });
};

test("a dropped photo goes to the model as an image, smaller and without its place", async () => {
  const daemon = await Daemon.start(null);
  const upstream = await provider();
  const context = await browser.newContext();
  try {
    await use(daemon, upstream);
    const page = await signIn(context, daemon);
    await page.waitForSelector("[data-composer]");
    const size = await page.evaluate(`(${makePhoto})().then((photo) => {
      const dropped = new DataTransfer();
      dropped.items.add(photo);
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
      return photo.size;
    })`);
    assert.ok(size > 1_500_000, `the photo has ${size} bytes`);
    await page.locator("img.attached").waitFor();
    // What only says that it is an image is refused, and the page says so.
    await page.locator("input[type=file]").last().setInputFiles([{ name: "broken.png", mimeType: "image/png", buffer: Buffer.from("no image") }]);
    await page.getByText("broken.png is not a supported image").waitFor();
    await page.fill("[data-composer]", "What is this?");
    await page.press("[data-composer]", "Enter");
    await page.getByText("A picture.").waitFor();
    await page.locator(".me", { hasText: "Images: 1" }).waitFor();
    const said = upstream.asked.at(-1).messages.find((message) => message.role === "user").content;
    const part = said.find((one) => one.type === "image_url");
    assert.match(part.image_url.url, /^data:image\/(jpeg|png);base64,/);
    const bytes = Buffer.from(part.image_url.url.split(",")[1], "base64");
    assert.ok(bytes.length <= 220_000, `${bytes.length} bytes`);
    assert.ok(!bytes.includes("GPS"), "where it was taken stays here");
    assert.ok(said.some((one) => one.type === "text" && one.text.includes("What is this?")));
    // After a reload the message still says that it has one.
    await page.reload();
    await page.locator(".me", { hasText: "Images: 1" }).waitFor();
    const refused = await daemon.api("POST", "/runs", { text: "x", images: [{ media_type: "image/svg+xml", data: "PHN2Zy8+" }] });
    assert.match(refused.detail, /image\/png, image\/jpeg/);
    await eventually(() => upstream.asked.length >= 1, "the request");
    assert.deepEqual(page.faults, []);
  } finally {
    upstream.close();
    await context.close();
    await daemon.stop();
  }
});

test("an image goes with a message to a run at work", async () => {
  const daemon = await Daemon.start(null);
  let go;
  const held = new Promise((resolve) => (go = resolve));
  const upstream = await provider((number) => (number === 1 ? held : Promise.resolve()));
  const context = await browser.newContext();
  try {
    await use(daemon, upstream);
    const page = await signIn(context, daemon);
    await page.waitForSelector("[data-composer]");
    await page.fill("[data-composer]", "Begin");
    await page.press("[data-composer]", "Enter");
    await eventually(() => upstream.asked.length === 1, "the first request");
    const png = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(40, 30);
      canvas.getContext("2d").fillRect(5, 5, 10, 10);
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    });
    await page.locator("input[type=file]").last().setInputFiles([{ name: "plan.png", mimeType: "image/png", buffer: Buffer.from(png) }]);
    await page.locator("img.attached").waitFor();
    await page.fill("[data-composer]", "Look at the plan");
    await page.press("[data-composer]", "Enter");
    const queued = page.locator(".queued", { hasText: "Look at the plan" });
    await queued.getByText("Images: 1").waitFor();
    await queued.getByRole("button", { name: "Send now" }).click();
    await queued.waitFor({ state: "detached" });
    go();
    await page.locator(".me", { hasText: "Look at the plan" }).getByText("Images: 1").waitFor();
    await eventually(() => upstream.asked.length === 2, "the request with the image");
    const last = upstream.asked.at(-1).messages.findLast((message) => message.role === "user").content;
    const part = last.find((one) => one.type === "image_url");
    assert.match(part.image_url.url, /^data:image\/png;base64,/);
    assert.ok(last.some((one) => one.type === "text" && one.text.includes("Look at the plan")));
    // One run heard both; a reload shows the same.
    assert.equal((await daemon.api("GET", "/runs")).items.length, 1);
    await page.reload();
    await page.locator(".me", { hasText: "Look at the plan" }).getByText("Images: 1").waitFor();
    assert.deepEqual(page.faults, []);
  } finally {
    go();
    upstream.close();
    await context.close();
    await daemon.stop();
  }
});
