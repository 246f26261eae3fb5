// The address: `#/view/part?name=value`. It is behind `#`, so that no server and no log sees it.
class Router {
  private hash = $state(location.hash);

  constructor() {
    addEventListener("hashchange", () => (this.hash = location.hash));
  }

  private get path(): string {
    return this.hash.replace(/^#\/?/, "").split("?")[0] ?? "";
  }

  get view(): string {
    return this.path.split("/")[0] || "chat";
  }

  /** What is behind the view, such as the id of a conversation. */
  get part(): string {
    return decodeURIComponent(this.path.split("/").slice(1).join("/"));
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.hash.split("?")[1] ?? "");
  }

  /** Goes to an address; `replace` adds no step to the history of the browser. */
  go(to: string, replace = false): void {
    if (location.hash === to) return;
    if (replace) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    this.hash = location.hash;
  }

  /** Changes values of the query; empty ones are left out. */
  set(values: Record<string, string | null>): void {
    const all = this.query;
    for (const [name, value] of Object.entries(values)) {
      if (value) all.set(name, value);
      else all.delete(name);
    }
    const text = all.toString();
    this.go(`#/${this.path || "chat"}${text ? `?${text}` : ""}`, true);
  }
}

export const router = new Router();
