// The bridge between a page of an MCP server and this page (MCP Apps, SEP-1865): JSON-RPC by
// postMessage. The page is in a frame without an origin; nothing that it says is trusted, and only
// what is listed here is answered.

export const PROTOCOL = "2026-01-26";
/** Calls and reads of a page that may go on at once. */
const MAX_CALLS = 4;
/** Characters of a message. */
const MAX_MESSAGE = 256_000;
/** Characters of a text that a page suggests as a message. */
const MAX_SUGGESTION = 4_000;
/** Messages of a page in a second; more are not read. */
const MAX_PER_SECOND = 50;
const NO_METHOD = -32601;
const BAD_PARAMS = -32602;
const REFUSED = -32000;

type Id = string | number;
type Params = Record<string, unknown>;

export interface ToolResult {
  content: { type: "text"; text: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** A resource as the standard has it: text or base64. */
export interface AppResource {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** What a page may ask of us. */
export interface AppHost {
  version: string;
  context(): Params;
  input: Params;
  result: ToolResult;
  callTool(name: string, args: Params): Promise<ToolResult>;
  /** Asks the person; whether the link was opened. */
  openLink(url: string): Promise<boolean>;
  /** Reads a resource of the page's own server. */
  readResource(uri: string): Promise<AppResource>;
  /** Shows the person a text as a message to send; whether they sent it. */
  suggest(text: string): Promise<boolean>;
  resize(height: number): void;
}

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** The address of a link that a person can be asked about; empty for every other. */
export function webAddress(value: unknown): string {
  try {
    const url = new URL(String(value));
    return ["https:", "http:"].includes(url.protocol) && !url.username && !url.password ? url.href : "";
  } catch {
    return "";
  }
}

/** The text of a `ui/message`; empty where it is not text of a person or too long. Blocks are an array, in
 *  drafts of the standard a single one. */
export function suggestion({ role, content }: Params): string {
  if (role !== "user") return "";
  const texts = (Array.isArray(content) ? content : [content]).map((block) => {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? text : null;
  });
  const whole = texts.join("\n").trim();
  return texts.includes(null) || whole.length > MAX_SUGGESTION ? "" : whole;
}

export class AppBridge {
  private calls = 0;
  private second = 0;
  private heard = 0;
  private ready = false;

  constructor(
    private readonly frame: HTMLIFrameElement,
    private readonly host: AppHost,
  ) {}

  start(): () => void {
    const hear = (event: MessageEvent) => void this.hear(event);
    addEventListener("message", hear);
    return () => {
      this.send({ id: "teardown", method: "ui/resource-teardown", params: { reason: "closed" } });
      removeEventListener("message", hear);
    };
  }

  /** Tells the page that colors or language changed. */
  contextChanged(): void {
    if (this.ready) this.send({ method: "ui/notifications/host-context-changed", params: this.host.context() });
  }

  private send(message: Params): void {
    // A frame without an origin can be addressed by no origin; its policy keeps it from going elsewhere.
    this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  private async hear(event: MessageEvent): Promise<void> {
    if (event.source !== this.frame.contentWindow || event.origin !== "null") return;
    const message = event.data as { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown } | null;
    if (typeof message !== "object" || message?.jsonrpc !== "2.0" || typeof message.method !== "string" || this.isTooMuch(message)) return;
    const params = typeof message.params === "object" && message.params !== null && !Array.isArray(message.params) ? (message.params as Params) : {};
    const { id } = message;
    if (typeof id !== "string" && typeof id !== "number") return this.notified(message.method, params);
    try {
      this.send({ id, result: await this.answer(message.method, params) });
    } catch (error) {
      const [code, words] = error instanceof RpcError ? [error.code, error.message] : [REFUSED, error instanceof Error ? error.message : String(error)];
      this.fail(id, code, words);
    }
  }

  private isTooMuch(message: unknown): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.second) [this.second, this.heard] = [second, 0];
    this.heard += 1;
    if (this.heard > MAX_PER_SECOND) return true;
    try {
      return (JSON.stringify(message) ?? "").length > MAX_MESSAGE;
    } catch {
      return true;
    }
  }

  private fail(id: Id, code: number, message: string): void {
    this.send({ id, error: { code, message } });
  }

  private notified(method: string, params: Params): void {
    if (method === "ui/notifications/size-changed" && typeof params.height === "number") this.host.resize(params.height);
    if (method === "ui/notifications/initialized" && !this.ready) {
      this.ready = true;
      this.send({ method: "ui/notifications/tool-input", params: { arguments: this.host.input } });
      this.send({ method: "ui/notifications/tool-result", params: { ...this.host.result } });
    }
  }

  private async answer(method: string, params: Params): Promise<unknown> {
    switch (method) {
      case "ping":
        return {};
      case "ui/initialize":
        return {
          protocolVersion: PROTOCOL,
          hostInfo: { name: "Toolcrib", version: this.host.version },
          hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, message: { text: {} } },
          hostContext: this.host.context(),
        };
      case "ui/open-link": {
        const url = webAddress(params.url);
        if (!url) throw new RpcError(BAD_PARAMS, "only http and https addresses can be opened");
        if (!(await this.host.openLink(url))) throw new RpcError(REFUSED, "the person did not open it");
        return {};
      }
      case "ui/message": {
        const text = suggestion(params);
        if (!text) throw new RpcError(BAD_PARAMS, `a message has the role user and text of at most ${MAX_SUGGESTION} characters`);
        return (await this.host.suggest(text)) ? {} : { isError: true };
      }
      case "tools/call":
        return this.call(params);
      case "resources/read": {
        const { uri } = params;
        if (typeof uri !== "string" || !uri) throw new RpcError(BAD_PARAMS, "resources/read needs uri");
        return { contents: [await this.oneOfFew(() => this.host.readResource(uri))] };
      }
      default:
        throw new RpcError(NO_METHOD, "this host does not have that method");
    }
  }

  private async call(params: Params): Promise<ToolResult> {
    const args = params.arguments ?? {};
    if (typeof params.name !== "string" || typeof args !== "object" || Array.isArray(args)) throw new RpcError(BAD_PARAMS, "tools/call needs name and arguments");
    const { name } = params;
    return this.oneOfFew(() => this.host.callTool(name, args as Params));
  }

  private async oneOfFew<T>(work: () => Promise<T>): Promise<T> {
    if (this.calls >= MAX_CALLS) throw new RpcError(REFUSED, "too many requests at once; wait for their results");
    this.calls += 1;
    try {
      return await work();
    } finally {
      this.calls -= 1;
    }
  }
}
