// A stream of server-sent events that comes back by itself: after a broken connection it continues
// behind the last event that it has, after a longer time the daemon begins with a snapshot.
import { session } from "./session.svelte";

export interface StreamEvent {
  name: string;
  data: unknown;
}

interface Handlers {
  event(event: StreamEvent): void;
  /** The connection stands. */
  open?(): void;
  /** It broke; the next try is in so many milliseconds. */
  away?(retryMs: number): void;
  /** The daemon does not have what was asked for (404, 403). */
  refused?(status: number): void;
}

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;
/** The daemon says something every 15 s; after this silence the connection is dead. */
const SILENCE_MS = 40_000;

/** Opens a stream; the returned function closes it. */
export function openStream(path: string, handlers: Handlers): () => void {
  let closed = false;
  let lastId = "";
  let retry = FIRST_RETRY_MS;
  let controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function read(): Promise<void> {
    controller = new AbortController();
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => controller.abort(), SILENCE_MS);
    };
    try {
      heard();
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (lastId) headers["last-event-id"] = lastId;
      const init = { headers, cache: "no-store" as const, signal: controller.signal };
      const response = await fetch(`/api/v1${path}`, init);
      if (response.status === 401) session.lost();
      if (response.status >= 400 && response.status < 500 && response.status !== 429) {
        closed = true;
        handlers.refused?.(response.status);
        return;
      }
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      retry = FIRST_RETRY_MS;
      handlers.open?.();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard();
        rest += value;
        let end: number;
        while ((end = rest.indexOf("\n\n")) >= 0) {
          frame(rest.slice(0, end));
          rest = rest.slice(end + 2);
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }

  function frame(text: string): void {
    let name = "";
    let data = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("id: ")) lastId = line.slice(4);
      else if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (name && !closed) handlers.event({ name, data: data ? JSON.parse(data) : null });
  }

  async function run(): Promise<void> {
    while (!closed) {
      await read().catch(() => undefined);
      if (closed) return;
      handlers.away?.(retry);
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, retry);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      retry = Math.min(retry * 2, LONGEST_RETRY_MS);
    }
  }

  let wake = () => {};
  // A machine that wakes up, or is online again, tries at once.
  const again = () => {
    retry = FIRST_RETRY_MS;
    wake();
  };
  const visible = () => document.visibilityState === "visible" && again();
  addEventListener("online", again);
  document.addEventListener("visibilitychange", visible);
  void run();
  return () => {
    closed = true;
    controller.abort();
    wake();
    removeEventListener("online", again);
    document.removeEventListener("visibilitychange", visible);
  };
}
