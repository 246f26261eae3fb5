// Webhooks: made with a secret that is shown once, called as another program would, switched off, deleted.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import path from "node:path";
import { after, before, test } from "node:test";

import { eventually, launch, withPage } from "./support.mjs";

const SCRIPT = "version: 1\nturns:\n  - say: The deployment is fine.\n";
let browser;
before(async () => (browser = await launch()));
after(async () => browser?.close());

function call(daemon, secret, body) {
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
  const headers = { "x-toolcrib-timestamp": String(time), "x-toolcrib-signature": `sha256=${signature}`, "content-type": "application/json" };
  return fetch(`${daemon.url}/api/v1/hooks/deploy`, { method: "POST", headers, body });
}

test("a webhook is made, called, switched off and deleted", async () => {
  await withPage(browser, SCRIPT, async ({ daemon, page }) => {
    await page.goto(`${daemon.url}/#/automation?tab=webhooks`);
    await page.getByText("No webhooks.").waitFor();
    await page.getByRole("button", { name: "New webhook" }).click();
    const form = page.locator("dialog[open]");
    await form.getByLabel("Name").fill("deploy");
    await form.getByLabel("Purpose").fill("Deployment");
    await form.getByLabel("Prompt of the agent").fill("Check the deployment in this event.");
    await form.getByRole("button", { name: "Create webhook" }).click();
    const secret = await form.locator("[data-secret]").inputValue();
    assert.match(secret, /^[0-9a-f]{64}$/);
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "webhook-made.png") });
    await form.getByRole("button", { name: "Close" }).click();
    const card = page.locator('[data-hook="deploy"]');
    await card.getByText("No requests yet.").waitFor();
    assert.ok(!(await page.content()).includes(secret), "it is shown once");
    assert.equal((await call(daemon, "wrong", "{}")).status, 401);
    assert.equal((await call(daemon, secret, '{"version": "1.2"}')).status, 200);
    await card.getByText("Last requests (1)").waitFor();
    await card.getByText("The deployment is fine.").waitFor();
    if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, "webhooks.png") });
    await card.getByRole("switch").click();
    await page.locator('[data-hook="deploy"][data-state="off"]').waitFor();
    assert.equal((await call(daemon, secret, '{"version": "1.3"}')).status, 401, "off, it is refused");
    await card.getByRole("switch").click();
    await page.locator('[data-hook="deploy"][data-state="on"]').waitFor();
    // A new secret: the old one is refused.
    await card.getByRole("button", { name: "New secret" }).click();
    await form.getByRole("button", { name: "New secret" }).click();
    const second = await form.locator("[data-secret]").inputValue();
    await form.getByRole("button", { name: "Close" }).click();
    assert.equal((await call(daemon, secret, '{"version": "1.4"}')).status, 401);
    assert.equal((await call(daemon, second, '{"version": "1.4"}')).status, 200);
    await card.getByRole("button", { name: "Delete" }).click();
    await form.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No webhooks.").waitFor();
    await eventually(async () => !(await daemon.api("GET", "/secrets")).items.some((one) => one.name === "hook-deploy"), "the secret is gone");
  });
});
