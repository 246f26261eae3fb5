// Who uses the page. The cookie of the session is out of reach of scripts; the word that goes with
// every change is kept per origin, so that a second tab has it too.
import type { components } from "./api.gen";

type Session = components["schemas"]["Session"];
export type Role = components["schemas"]["Role"];

const WORD = "toolcrib-session";

class SessionState {
  /** `null` = not signed in. */
  current = $state<Session | null>(null);
  /** Whether it is known yet if somebody is signed in. */
  known = $state(false);
  /** Why a sign-in failed. */
  problem = $state("");

  word(): string | null {
    return localStorage.getItem(WORD);
  }

  /** Whether the daemon would carry out what needs this role. */
  may(role: Role): boolean {
    const roles = this.current?.roles ?? [];
    return roles.includes(role) || roles.includes("owner") || (role === "viewer" && roles.length > 0);
  }

  /** Whether arguments, results and titles are shown to this role. */
  get seesPayloads(): boolean {
    return (["caller", "approver", "operator", "owner"] as const).some((role) => this.may(role));
  }

  lost(): void {
    this.current = null;
  }

  private accept(session: Session): void {
    if (session.word) localStorage.setItem(WORD, session.word);
    this.current = session;
    this.problem = "";
  }

  /** Signs in with the code of the address, or with the cookie of before. */
  async start(): Promise<void> {
    const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
    if (code) {
      // The code leaves the address before anything else sees it.
      history.replaceState(null, "", "/");
      await this.exchange("/session/sign-in", { body: JSON.stringify({ code }) });
    } else {
      await this.resume();
    }
    this.known = true;
  }

  /** With a token that the person pastes. */
  async token(token: string): Promise<void> {
    await this.exchange("/session", { headers: { authorization: `Bearer ${token}` }, body: "{}" });
  }

  async end(): Promise<void> {
    const headers: Record<string, string> = { "x-toolcrib-session": this.word() ?? "" };
    await fetch("/api/v1/session", { method: "DELETE", headers }).catch(() => null);
    localStorage.removeItem(WORD);
    this.current = null;
  }

  private async resume(): Promise<void> {
    try {
      const response = await fetch("/api/v1/session", { cache: "no-store" });
      // Without the word the page could change nothing; only the answer to a sign-in has it.
      this.current = response.ok && this.word() ? ((await response.json()) as Session) : null;
    } catch {
      this.current = null;
    }
  }

  private async exchange(path: string, init: RequestInit): Promise<void> {
    const headers = { "content-type": "application/json", ...(init.headers as object) };
    try {
      const response = await fetch(`/api/v1${path}`, { ...init, method: "POST", headers });
      const body = await response.json();
      if (response.ok) this.accept(body as Session);
      else this.problem = (body as { detail?: string }).detail ?? `HTTP ${response.status}`;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}

export const session = new SessionState();
