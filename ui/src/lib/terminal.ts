// A terminal of the daemon on the screen. What it shows comes by a stream that continues where it
// was; what is typed is sent in order, one request at a time.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

import { api, path, send } from "./api";
import { openStream } from "./stream";

/** Lines that can be scrolled back. */
const SCROLLBACK = 10_000;
const RESIZE_MS = 100;

/** The page allows no style elements; the rules of the terminal become a sheet of the document. */
function withoutStyleElements(): Document {
  const create = (tag: string) => {
    if (tag !== "style") return document.createElement(tag);
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const stand = document.createElement("span");
    stand.hidden = true;
    const remove = stand.remove.bind(stand);
    Object.defineProperty(stand, "textContent", { set: (text: string) => sheet.replaceSync(text) });
    stand.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      remove();
    };
    return stand;
  };
  return new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return create;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
}

function color(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

interface Handlers {
  ended(code: number): void;
  away(is: boolean): void;
  failed(error: unknown): void;
}

export class TerminalView {
  private readonly screen: Xterm;
  private readonly fit = new FitAddon();
  private readonly observer: ResizeObserver;
  private close: (() => void) | undefined;
  private typed = "";
  private sending = false;
  private over = false;
  private resizing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    place: HTMLElement,
    private readonly id: string,
    private readonly handlers: Handlers,
    label: string,
  ) {
    const [background, foreground, cursor, selection] = [color("sunken"), color("text"), color("accent"), color("selected")];
    this.screen = new Xterm({
      scrollback: SCROLLBACK, fontSize: 13, fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"), screenReaderMode: true,
      theme: { background, foreground, cursor, selectionBackground: selection }, documentOverride: withoutStyleElements(), allowProposedApi: true, minimumContrastRatio: 4.5,
    });
    this.screen.loadAddon(this.fit);
    this.screen.open(place);
    this.screen.textarea?.setAttribute("aria-label", label);
    this.screen.onData((text) => this.type(text));
    // Control and Shift with C copies; Control with C alone is for the program.
    this.screen.attachCustomKeyEventHandler((event) => {
      const copies = event.type === "keydown" && event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "c";
      if (copies && this.screen.hasSelection()) {
        event.preventDefault();
        void navigator.clipboard.writeText(this.screen.getSelection());
        return false;
      }
      // Tab is for the shell, so the focus needs another way out.
      if (event.type === "keydown" && event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "x") {
        event.preventDefault();
        document.getElementById("main")?.focus();
        return false;
      }
      return true;
    });
    this.observer = new ResizeObserver(() => {
      clearTimeout(this.resizing);
      this.resizing = setTimeout(() => this.resize(), RESIZE_MS);
    });
    this.observer.observe(place);
    this.fit.fit();
    this.follow();
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.screen.cols, rows: this.screen.rows };
  }

  private follow(): void {
    this.close = openStream(path`/terminals/${this.id}/output`, {
      open: () => {
        this.handlers.away(false);
        this.resize();
      },
      away: () => this.handlers.away(true),
      refused: () => this.handlers.ended(-1),
      event: ({ name, data }) => {
        if (name === "output") {
          const { data: text, cut } = data as { data: string; cut: boolean };
          if (cut) this.screen.reset();
          this.screen.write(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
        } else if (name === "end") {
          this.over = true;
          this.close?.();
          this.handlers.ended((data as { code: number }).code);
        }
      },
    });
  }

  private type(text: string): void {
    this.typed += text;
    if (!this.sending) void this.flush();
  }

  private async flush(): Promise<void> {
    this.sending = true;
    try {
      while (this.typed) {
        const text = this.typed;
        this.typed = "";
        await send("POST", path`/terminals/${this.id}/input`, { raw: text });
      }
    } catch (error) {
      this.typed = "";
      this.handlers.failed(error);
    } finally {
      this.sending = false;
    }
  }

  private resize(): void {
    this.fit.fit();
    if (this.over) return;
    void api.put(path`/terminals/${this.id}/size`, this.size).catch(() => undefined);
  }

  focus(): void {
    this.screen.focus();
  }

  dispose(): void {
    this.close?.();
    this.observer.disconnect();
    clearTimeout(this.resizing);
    // xterm 5.5.0 lays its viewport out in a timer that it does not clear: a screen that is gone
    // before it throws "reading 'dimensions'".
    setTimeout(() => this.screen.dispose());
  }
}
