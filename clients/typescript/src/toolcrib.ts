/** A client of the Toolcrib daemon in one file, with nothing but what Node has. */

import type { components } from "./api.gen.js";

type Schemas = components["schemas"];
export type Approval = Schemas["Approval"];
export type CallDocument = Schemas["CallDocument"];
export type Problem = Schemas["Problem"];
export type RunSnapshot = Schemas["RunSnapshot"];
export type ToolRow = Schemas["ToolRow"];

/** The daemon did not carry out a request; `problem.code` says why and never changes its meaning. */
export class ToolcribError extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
  }
}

/** Talks to one daemon. */
export class Toolcrib {
  constructor(
    private readonly url = process.env["TOOLCRIB_URL"] ?? "",
    private readonly token = process.env["TOOLCRIB_TOKEN"] ?? "",
  ) {}

  /** All tools, switched on or not. */
  async tools(): Promise<ToolRow[]> {
    const page = await this.json<{ items: ToolRow[] }>("GET", "/tools");
    return page.items;
  }

  /** Runs one tool through the pipeline. What came of it is in `status`; a call that did not succeed is an answer, too. */
  async call(tool: string, args: Record<string, unknown>): Promise<CallDocument> {
    const answer = await this.send("POST", "/calls", { tool, arguments: args });
    if (!answer.headers.get("content-type")?.startsWith("application/json")) throw await problem(answer);
    return (await answer.json()) as CallDocument;
  }

  /** Lets an agent work until it is done or waits for a person. */
  run(text: string): Promise<RunSnapshot> {
    return this.json("POST", "/runs", { text, wait: true });
  }

  /** A run as it is now. */
  show(run: string): Promise<RunSnapshot> {
    return this.json("GET", `/runs/${run}`);
  }

  /** What waits for a person. */
  async inbox(): Promise<Approval[]> {
    const page = await this.json<{ items: Approval[] }>("GET", "/approvals");
    return page.items;
  }

  /** Decides about what was shown: `approve`, `deny`, `edit`, `skip`, or `answer` with `text`. */
  async decide(asked: Approval, decision: string, more: Record<string, unknown> = {}): Promise<void> {
    await this.json("POST", `/approvals/${asked.approval}`, { decision, nonce: asked.nonce, ...more });
  }

  /** What happens in a run: first its state as `snapshot`, then every change under its name, until it is over. */
  async *events(run: string): AsyncGenerator<[string, Record<string, unknown>]> {
    const answer = await this.send("GET", `/runs/${run}/events`);
    if (!answer.ok || !answer.body) throw await problem(answer);
    let rest = "";
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const fields = block.split("\n");
        const of = (name: string) =>
          fields.filter((field) => field.startsWith(`${name}: `)).map((field) => field.slice(name.length + 2));
        const data = of("data").join("");
        if (data) yield [of("event")[0] ?? "message", JSON.parse(data)];
      }
    }
  }

  private async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.send(method, path, body);
    if (!answer.ok) throw await problem(answer);
    return (await answer.json()) as T;
  }

  private send(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    if (body === undefined) return fetch(`${this.url}/api/v1${path}`, { method, headers });
    headers["Content-Type"] = "application/json";
    // Sent again with the same key, nothing runs twice.
    headers["Idempotency-Key"] = crypto.randomUUID();
    return fetch(`${this.url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
  }
}

async function problem(answer: Response): Promise<ToolcribError> {
  return new ToolcribError((await answer.json()) as Problem);
}
