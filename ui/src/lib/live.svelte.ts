// What the whole page knows of the daemon, kept up to date by the one stream of events: runs and
// questions that are open, switches, and whether the daemon answers at all.
import { api, query, type Schemas } from "./api";
import { session } from "./session.svelte";
import { openStream } from "./stream";

export type Approval = Schemas["Approval"];
export type Tool = Schemas["ToolRow"];
type Draft = Schemas["Draft"];
type Notice = Schemas["Notification"];
type OpenRun = { run: string; conversation: string; agent: string; state: string; status: string | null };

const ENDED_KEPT = 50;
const SEEN = "toolcrib-drafts-seen";
const SEEN_KEPT = 500;
const BANNER_AFTER_MS = 1_200;

/** Whether a person has to do something about it. */
export const isOpenDraft = (draft: Draft): boolean => ["draft", "failed", "unknown"].includes(draft.status);

class Live {
  state = $state<"connecting" | "live" | "away">("connecting");
  /** When what is shown was last known to be right. */
  asOf = $state(0);
  approvals = $state<Approval[]>([]);
  runs = $state<Record<string, OpenRun>>({});
  status = $state<Schemas["Status"] | null>(null);
  kill = $state<Schemas["KillSwitchDocument"] | null>(null);
  // Read as a whole and never changed: a search through a thousand behind proxies takes three times as long.
  tools = $state.raw<Tool[]>([]);
  private readonly byName = $derived(new Map(this.tools.map((tool) => [tool.name, tool])));
  /** Runs that ended lately, for one that began and ended between two looks. */
  endedRuns = $state.raw<OpenRun[]>([]);
  /** Counts how often the stream of events was opened. */
  opened = $state(0);
  private wanted = new Set<string>();
  /** Groups whose switch is off. */
  groupsOff = $state<string[]>([]);
  conversations = $state<Schemas["ConversationRow"][]>([]);
  moreConversations = $state<string | null>(null);
  /** Notifications that were not dismissed, newest first. */
  notifications = $state<Notice[]>([]);
  /** Drafts, newest first. */
  drafts = $state.raw<Draft[]>([]);
  /** Drafts that were looked at in this browser, as `ID@VERSION`. */
  private seen = $state.raw<string[]>(JSON.parse(localStorage.getItem(SEEN) ?? "[]") as string[]);
  /** Counts what happened, for views that read again. */
  decisions = $state(0);
  switches = $state(0);
  private close: (() => void) | undefined;
  private banner: ReturnType<typeof setTimeout> | undefined;
  private due = new Map<string, ReturnType<typeof setTimeout>>();
  private reading = new Set<string>();

  get waiting(): number {
    return this.approvals.length;
  }

  /** Drafts that wait for a person and were not looked at yet. */
  get unreadDrafts(): number {
    return this.drafts.filter((draft) => isOpenDraft(draft) && !this.seen.includes(`${draft.draft}@${draft.version}`)).length;
  }

  sawDraft(draft: Draft): void {
    const mark = `${draft.draft}@${draft.version}`;
    if (this.seen.includes(mark)) return;
    this.seen = [...this.seen.slice(-SEEN_KEPT), mark];
    localStorage.setItem(SEEN, JSON.stringify(this.seen));
  }

  get away(): boolean {
    return this.state === "away";
  }

  tool(name: string): Tool | undefined {
    return this.byName.get(name);
  }

  /** Reads the tools again, once, for one that came after they were read, and for one of a server,
   *  which may have been connected or reviewed elsewhere meanwhile. */
  wantTool(name: string): void {
    const known = this.tool(name);
    if (this.wanted.has(name) || !this.tools.length || (known && (known.page || !name.includes("__")))) return;
    this.wanted.add(name);
    void this.readSwitches().catch(() => this.wanted.delete(name));
  }

  start(): void {
    if (this.close) return;
    this.close = openStream("/events", {
      open: () => {
        clearTimeout(this.banner);
        this.banner = undefined;
        this.state = "live";
        this.opened++;
        this.refresh();
      },
      away: () => {
        this.banner ??= setTimeout(() => (this.state = "away"), BANNER_AFTER_MS);
      },
      refused: () => (this.state = "away"),
      event: ({ name, data }) => {
        this.asOf = Date.now();
        if (name === "snapshot") this.snapshot(data as { runs: OpenRun[] });
        if (name === "run") this.run(data as OpenRun);
        if (name === "approval" || name === "decision") {
          if (name === "decision") this.decisions++;
          this.atOnce("approvals", () => this.readApprovals());
        }
        if (name === "notification") {
          const fresh = data as { notification: string; dismissed_at: number | null };
          this.soon("notifications", () => this.readNotifications(fresh.dismissed_at ? undefined : fresh.notification));
        }
        if (name === "conversations.changed") this.soon("conversations", () => this.readConversations());
        if (name === "drafts.changed") this.soon("drafts", () => this.readDrafts());
        if (name === "switch") {
          this.switches++;
          this.atOnce("switches", () => this.readSwitches());
        }
      },
    });
  }

  stop(): void {
    this.close?.();
    this.close = undefined;
    clearTimeout(this.banner);
    this.state = "connecting";
  }

  /** Reads everything again. */
  refresh(): void {
    this.soon("approvals", () => this.readApprovals());
    this.soon("switches", () => this.readSwitches());
    this.soon("conversations", () => this.readConversations());
    this.soon("notifications", () => this.readNotifications());
    this.soon("drafts", () => this.readDrafts());
  }

  async readDrafts(): Promise<void> {
    this.drafts = (await api.get<Schemas["DraftPage"]>("/drafts")).items;
  }

  private snapshot(data: { runs: OpenRun[] }): void {
    this.runs = Object.fromEntries(data.runs.map((run) => [run.run, run]));
    this.refresh();
  }

  private run(run: OpenRun): void {
    if (run.state === "ended") {
      delete this.runs[run.run];
      this.endedRuns = [...this.endedRuns.slice(1 - ENDED_KEPT), run];
    } else this.runs[run.run] = run;
    this.soon("conversations", () => this.readConversations());
  }

  /** Several events of one moment are one request. */
  private soon(name: string, read: () => Promise<void>): void {
    if (this.due.has(name)) return;
    this.due.set(
      name,
      setTimeout(() => {
        this.due.delete(name);
        read().catch(() => undefined);
      }, 15),
    );
  }

  /** What a person waits for is read without delay, and once more if an event comes meanwhile. */
  private atOnce(name: string, read: () => Promise<void>): void {
    if (this.reading.has(name)) {
      this.soon(name, async () => this.atOnce(name, read));
      return;
    }
    this.reading.add(name);
    void read().catch(() => undefined).finally(() => this.reading.delete(name));
  }

  async readApprovals(): Promise<void> {
    const page = await api.get<Schemas["ApprovalPage"]>("/approvals?limit=500");
    this.approvals = page.items;
  }

  /** A fresh one is shown by the system too, if the person allowed it and looks elsewhere. */
  async readNotifications(fresh?: string): Promise<void> {
    const page = await api.get<Schemas["NotificationPage"]>("/notifications?open=true");
    this.notifications = page.items;
    const one = page.items.find((row) => row.notification === fresh);
    const allowed = "Notification" in window && Notification.permission === "granted";
    if (one?.title && allowed && document.hidden) {
      new Notification(one.title, {
        body: one.message ?? "", tag: one.tag ?? one.notification, requireInteraction: one.urgency === "high", silent: one.urgency === "low",
      });
    }
  }

  async dismissNotification(id: string): Promise<void> {
    await api.post(`/notifications/${encodeURIComponent(id)}/dismiss`, {});
    this.notifications = this.notifications.filter((row) => row.notification !== id);
  }

  async readSwitches(): Promise<void> {
    // Each is shown when it is there: a switch does not wait for the status.
    await Promise.all([
      api.get<Schemas["ToolRowPage"]>("/tools?metrics=true").then(({ items }) => (this.tools = items)),
      api.get<Schemas["SwitchRowPage"]>("/switches").then(({ items }) => (this.groupsOff = items.filter((row) => row.state === "off").map((row) => row.name))),
      api.get<Schemas["KillSwitchDocument"]>("/kill-switch").then((kill) => (this.kill = kill)),
      api.get<Schemas["Status"]>("/status").then((status) => (this.status = status)),
    ]);
  }

  async readConversations(): Promise<void> {
    const limit = Math.min(500, Math.max(50, this.conversations.length));
    const page = await api.get<Schemas["ConversationRowPage"]>(`/conversations${query({ limit })}`);
    this.conversations = page.items;
    this.moreConversations = page.next ?? null;
  }

  async olderConversations(): Promise<void> {
    if (!this.moreConversations) return;
    const next = query({ limit: 100, cursor: this.moreConversations });
    const page = await api.get<Schemas["ConversationRowPage"]>(`/conversations${next}`);
    this.conversations = [...this.conversations, ...page.items];
    this.moreConversations = page.next ?? null;
  }

  async setKill(engaged: boolean, reason: string): Promise<void> {
    if (!session.may("operator")) return;
    if (engaged) this.kill = await api.put("/kill-switch", { reason });
    else this.kill = await api.delete("/kill-switch");
    await this.readSwitches();
  }
}

export const live = new Live();
