// A daemon of the real binary and a browser, for the tests of the page.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

import { chromium } from "playwright-core";

const BINARY = process.env.TOOLCRIB_BINARY ?? "toolcrib";
const CHROMIUM = process.env.TOOLCRIB_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const PATIENCE_MS = Number(process.env.TOOLCRIB_PATIENCE_MS ?? 30_000);

async function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function eventually(check, what, patience = PATIENCE_MS) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A daemon with a home and a workspace of its own, on a port that it keeps after a restart. Without a
 *  script it has no model. */
export class Daemon {
  static async start(script) {
    const daemon = new Daemon();
    daemon.folder = fs.mkdtempSync(path.join(os.tmpdir(), "toolcrib-page-"));
    daemon.workspace = path.join(daemon.folder, "workspace");
    fs.mkdirSync(daemon.workspace);
    daemon.script = script === null ? null : path.join(daemon.folder, "script.yaml");
    if (daemon.script) fs.writeFileSync(daemon.script, script);
    daemon.port = await freePort();
    daemon.url = `http://127.0.0.1:${daemon.port}`;
    daemon.env = { ...process.env, TOOLCRIB_HOME: path.join(daemon.folder, "home"), NO_COLOR: "1" };
    for (const name of ["ANTHROPIC", "OPENAI", "GEMINI", "DEEPSEEK"]) delete daemon.env[`${name}_API_KEY`];
    for (const name of ["POLICY", "ALLOW_NET", "CONFIG", "PROVIDER", "MODEL", "BASE_URL", "DAEMON", "TOKEN"]) delete daemon.env[`TOOLCRIB_${name}`];
    await daemon.run();
    return daemon;
  }

  async run() {
    const args = ["serve", "--log-level", "error", ...(this.script ? ["--model", `scripted:${this.script}`] : []), "--listen", `127.0.0.1:${this.port}`];
    this.child = spawn(BINARY, args, { cwd: this.workspace, env: this.env, stdio: "ignore" });
    await eventually(() => fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false), "the daemon");
    this.token = fs.readFileSync(path.join(this.folder, "home/state/daemon/token"), "utf8").trim();
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  async end() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGTERM");
    await ended;
  }

  async stop() {
    await this.end();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** The address of `toolcrib open`. */
  open() {
    return execFileSync(BINARY, ["open", "--print"], { env: this.env }).toString().trim();
  }

  /** Sends a body as it is, such as a file. */
  async send(method, at, body, token = this.token) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" };
    const answer = await fetch(`${this.url}/api/v1${at}`, { method, headers, body });
    return answer.json();
  }

  async api(method, at, body, token = this.token) {
    const answer = await fetch(`${this.url}/api/v1${at}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return answer.status === 204 ? null : answer.json();
  }
}

/** A browser with a profile of its own for each context. */
export async function launch(more = []) {
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...more] });
}

/** A browser and a context whose frames are presented: a viewport that is larger than the window is not
 *  drawn below its edge, and the browser then times an event there until something else is drawn. */
export async function launchMeasured() {
  const browser = await launch(["--window-size=1280,1000"]);
  return { browser, context: await browser.newContext({ viewport: null }) };
}

/** A page that fails the test for every error in its console, and every answer that says no. */
export async function watched(context, { expected = [] } = {}) {
  await showBuilt(context);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.some((one) => message.text().includes(one))) page.faults.push(`console: ${message.text()}`);
  });
  page.on("response", (answer) => {
    if (answer.status() >= 400 && !expected.some((one) => String(answer.status()) === one)) page.faults.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
  });
  return page;
}

/** A folder with a built page that is shown in place of the one in the binary, so that a change of
 *  the page needs no build of the binary. */
const DIST = process.env.TOOLCRIB_PAGE_DIST;

async function showBuilt(context) {
  if (!DIST) return;
  await context.route((url) => ["/", "/manifest.webmanifest"].includes(url.pathname) || url.pathname.startsWith("/assets/"), async (route) => {
    const { pathname } = new URL(route.request().url());
    // Headers are the daemon's, with its policy about scripts.
    const root = await fetch(new URL("/", route.request().url())).catch(() => null);
    // The daemon was killed, or the test is over.
    if (!root) return route.abort("connectionrefused");
    const { headers } = root;
    const types = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".png": "image/png", ".webmanifest": "application/manifest+json" };
    const file = pathname === "/" ? "index.html" : pathname.slice(1);
    const kept = ["content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-opener-policy", "cross-origin-resource-policy"];
    const said = Object.fromEntries(kept.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));
    await route.fulfill({ body: fs.readFileSync(path.join(DIST, file)), headers: { ...said, "content-type": types[path.extname(file)] } });
  });
}

/** Signs in with the code of `toolcrib open`. */
export async function signIn(context, daemon, options) {
  const page = await watched(context, options);
  await page.goto(daemon.open());
  await page.waitForSelector(".app");
  return page;
}

/** Sends a message in a new chat. */
export async function ask(page, text) {
  await page.fill("[data-composer]", text);
  await page.press("[data-composer]", "Enter");
  await page.waitForURL(/#\/chat\/conv_/);
}

/** A daemon and a signed-in page, for one test. */
export async function withPage(browser, script, run, options) {
  const daemon = await Daemon.start(script);
  const context = await browser.newContext();
  try {
    const page = await signIn(context, daemon, options);
    try {
      await run({ daemon, context, page });
    } catch (error) {
      if (process.env.TOOLCRIB_SHOTS) await page.screenshot({ path: path.join(process.env.TOOLCRIB_SHOTS, `failed-${Date.now()}.png`) });
      if (page.faults.length) error.message += `\n${page.faults.join("\n")}`;
      throw error;
    }
    assert.deepEqual(page.faults, [], page.faults.join("\n"));
  } finally {
    await context.close();
    await daemon.stop();
  }
}
