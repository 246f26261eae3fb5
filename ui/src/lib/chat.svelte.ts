// The open conversation: its runs, what is typed, and what is sent when the present run ends.
import { api, ApiError, path, query, words, type Schemas } from "./api";
import { store, type Attachment } from "./attachments";
import { t } from "./i18n.svelte";
import type { ImagePart } from "./images";
import { live } from "./live.svelte";
import { RunView, type Snapshot } from "./run.svelte";
import { router } from "./router.svelte";
import { session } from "./session.svelte";
import { surroundings } from "./surroundings";

type MessagePage = Schemas["MessageRowPage"];
export interface Queued {
  id: string;
  text: string;
  skill?: string;
  images?: ImagePart[];
}

/** A message that the page of a server suggests. */
export interface Suggestion {
  server: string;
  text: string;
  answer: (sent: boolean) => void;
}

/** Runs of a conversation that are shown at first; the earlier ones come on demand. */
const RUNS_SHOWN = 15;
/** Of these, the last are read first: they fill the window, and the daemon reads the whole conversation for
 *  each of them. */
const RUNS_FIRST = 3;
/** So many stay shown while a conversation goes on; then those before the last fifteen leave the screen. */
const MOST_RUNS = 40;
const QUEUE = "toolcrib-queue-";
/** The person ended it: what waits behind it is theirs to send. */
const STOPPED = ["stopped", "cancelled"];

class Chat {
  conversation = $state("");
  runs = $state<RunView[]>([]);
  /** Runs before those that are shown. */
  earlier = $state<string[]>([]);
  loading = $state(false);
  problem = $state("");
  queue = $state<Queued[]>([]);
  agent = $state("");
  model = $state("");
  /** The skill that the next message begins with. */
  skill = $state("");
  attachments = $state.raw<Attachment[]>([]);
  drafts = $state<Record<string, string>>({});
  /** What tools of the conversation changed, by call. */
  changes = $state<Schemas["Change"][]>([]);
  /** What a page of a server wants to be said; the person sends it or not. */
  suggestion = $state.raw<Suggestion | null>(null);
  private opening = 0;
  /** Whether a run is being begun here: its event may come before the answer that has its id. */
  private starting = false;
  /** Runs that are being read because an event named them. */
  private noticing = new Set<string>();
  /** When the runs that are shown at first are all there. */
  private filled: Promise<void> = Promise.resolve();

  get run(): RunView | undefined {
    return this.runs.at(-1);
  }

  get open(): boolean {
    return this.run !== undefined && this.run.snapshot.state !== "ended";
  }

  get title(): string {
    return live.conversations.find((row) => row.conversation === this.conversation)?.title ?? "";
  }

  async show(conversation: string): Promise<void> {
    if (conversation === this.conversation && (conversation === "" || this.runs.length || this.loading)) return;
    const mine = ++this.opening;
    this.leave();
    this.skill = "";
    this.agent = this.model = "";
    this.attachments = [];
    this.conversation = conversation;
    this.queue = JSON.parse(localStorage.getItem(QUEUE + conversation) ?? "[]") as Queued[];
    // Messages are for callers: others would be refused.
    if (!conversation || !session.may("caller")) return;
    this.loading = true;
    try {
      const ids = await this.runIds(conversation);
      const shown = await Promise.all(ids.slice(-RUNS_FIRST).map((id) => this.read(id)));
      if (mine !== this.opening) return;
      this.earlier = ids.slice(0, -RUNS_SHOWN);
      this.runs = shown;
      this.filled = this.fill(ids.slice(-RUNS_SHOWN, -RUNS_FIRST), this.filled);
      this.follow();
      void this.readChanges();
      // The run may have ended while nobody looked.
      if (this.run && !this.open) void this.sendNext();
    } catch (error) {
      if (mine === this.opening) this.problem = words(error);
    } finally {
      if (mine === this.opening) this.loading = false;
    }
  }

  /** Shows runs before those that are shown. */
  private async fill(ids: string[], before: Promise<void>): Promise<void> {
    const mine = this.opening;
    for (const id of ids) this.noticing.add(id);
    try {
      const more = await Promise.all(ids.map((id) => this.read(id)));
      // Those between them and what is shown come first.
      await before;
      if (mine === this.opening) this.runs = [...more, ...this.runs];
    } catch (error) {
      if (mine !== this.opening) return;
      this.earlier = [...this.earlier, ...ids];
      this.problem = words(error);
    } finally {
      for (const id of ids) this.noticing.delete(id);
    }
  }

  /** Runs that have no message yet are found through the stream of all runs. */
  private async runIds(conversation: string): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const next = query({ limit: 500, cursor });
      const page: MessagePage = await api.get(path`/conversations/${conversation}/messages` + next);
      for (const message of page.items) if (message.run && !ids.includes(message.run)) ids.push(message.run);
      cursor = page.next ?? undefined;
    } while (cursor);
    for (const run of Object.values(live.runs)) {
      if (run.conversation === conversation && !ids.includes(run.run)) ids.push(run.run);
    }
    return ids;
  }

  private async read(id: string): Promise<RunView> {
    return new RunView(await api.get<Snapshot>(path`/runs/${id}`));
  }

  /** A new conversation that begins as this one did before a run; its message can be changed. */
  async branch(run: RunView, text: string): Promise<void> {
    const made = await api.post<Schemas["ConversationRow"]>(path`/conversations/${this.conversation}/branch`, { before: run.id });
    void live.readConversations().catch(() => undefined);
    this.drafts[made.conversation] = text;
    router.go(`#/chat/${made.conversation}`);
    const { agent, model } = this;
    await this.show(made.conversation);
    Object.assign(this, { agent, model });
  }

  /** The last message again, in a branch without its first answer. */
  async regenerate(run: RunView, text: string): Promise<void> {
    await this.branch(run, "");
    await this.send(text);
  }

  async showEarlier(): Promise<void> {
    const ids = this.earlier.slice(-RUNS_SHOWN);
    // At once, so that a second click does not read the same ones.
    this.earlier = this.earlier.slice(0, -RUNS_SHOWN);
    this.filled = this.fill(ids, this.filled);
    await this.filled;
  }

  /** Shows a run that may lie before those that are shown; whether it is there. */
  async reveal(id: string): Promise<boolean> {
    await this.filled;
    while (this.earlier.includes(id)) await this.showEarlier();
    return this.runs.some((run) => run.id === id);
  }

  /** Leaves out the first runs of a conversation that has become long, while its end is looked at. */
  trim(): void {
    if (this.runs.length <= MOST_RUNS) return;
    const gone = this.runs.slice(0, -RUNS_SHOWN);
    this.earlier = [...this.earlier, ...gone.map((run) => run.id)];
    this.runs = this.runs.slice(-RUNS_SHOWN);
  }

  /** The whole conversation, of which only the end may be shown. */
  async everyRun(): Promise<RunView[]> {
    await this.filled;
    const { earlier, runs } = this;
    const all: RunView[] = [];
    for (let at = 0; at < earlier.length; at += RUNS_SHOWN) {
      all.push(...(await Promise.all(earlier.slice(at, at + RUNS_SHOWN).map((id) => this.read(id)))));
    }
    return [...all, ...runs];
  }

  leave(): void {
    for (const run of this.runs) run.stop();
    this.runs = [];
    this.earlier = [];
    this.filled = Promise.resolve();
    this.changes = [];
    this.problem = "";
    this.loading = false;
    this.settleSuggestion(false);
    this.conversation = "";
  }

  /** Shows a message that a page suggests; whether the person sent it. One at a time. */
  suggest(server: string, text: string): Promise<boolean> {
    if (this.suggestion || !session.may("caller")) return Promise.resolve(false);
    return new Promise((answer) => (this.suggestion = { server, text, answer }));
  }

  settleSuggestion(sent: boolean): void {
    this.suggestion?.answer(sent);
    this.suggestion = null;
  }

  private follow(): void {
    this.run?.follow(() => void this.ended());
  }

  private async ended(): Promise<void> {
    void live.readConversations().catch(() => undefined);
    void this.readChanges();
    await this.sendNext();
  }

  private async sendNext(): Promise<void> {
    const next = this.queue[0];
    if (next && !STOPPED.includes(this.run?.snapshot.status ?? "")) await this.sendQueued(next);
  }

  /** The id is the idempotency key: two tabs that send it begin one run. */
  async sendQueued(one: Queued): Promise<void> {
    this.withdraw(one.id);
    await this.start(one);
  }

  /** Runs that another tab began in this conversation, as the events name them. */
  async notice(): Promise<void> {
    const named = [...live.endedRuns, ...Object.values(live.runs)];
    await this.add(named.filter((one) => one.conversation === this.conversation).map((one) => one.run));
  }

  /** Runs that began while there were no events. */
  async catchUp(): Promise<void> {
    if (!this.runs.length || this.loading) return;
    await this.add(await this.runIds(this.conversation));
  }

  private async add(ids: string[]): Promise<void> {
    const { conversation } = this;
    if (this.starting || this.loading || !conversation || !session.may("caller")) return;
    const known = (id: string) => this.earlier.includes(id) || this.runs.some((run) => run.id === id);
    for (const id of ids.filter((one) => !known(one) && !this.noticing.has(one))) {
      this.noticing.add(id);
      const view = await this.read(id).finally(() => this.noticing.delete(id));
      if (conversation !== this.conversation) return;
      if (known(id)) continue;
      // Ids begin with the time; answers to requests of one moment come in any order.
      this.runs = [...this.runs, view].toSorted((a, b) => (a.id < b.id ? -1 : 1));
      this.follow();
      void this.readChanges();
    }
  }

  /** Sends a message, or queues it while a run works. Its files are stored first; `bare` = what is in the
   *  composer stays there. */
  async send(text: string, bare = false): Promise<void> {
    const images = bare ? [] : this.attachments.flatMap((one) => one.image ?? []);
    // What a picture alone means is for the model to say.
    let clean = text.trim() || (images.length ? t("attach.look") : "");
    if (!clean) return;
    this.problem = "";
    if (this.attachments.length && !bare) {
      try {
        const paths = await store(this.attachments.filter((one) => !one.image));
        if (paths.length) clean += `\n\n${t("attach.named", { paths: paths.map((one) => `\`${one}\``).join(", ") })}`;
        this.attachments = [];
      } catch (error) {
        this.problem = words(error);
        this.drafts[this.conversation] ||= text;
        return;
      }
    }
    const skill = (!bare && this.skill) || undefined;
    if (!bare) this.skill = "";
    const next: Queued = { id: crypto.randomUUID(), text: clean, ...(skill ? { skill } : {}), ...(images.length ? { images } : {}) };
    if (this.open) this.keep([...this.queue, next]);
    else await this.start(next);
  }

  private async start({ text, id: key, skill, images }: Queued): Promise<void> {
    this.problem = "";
    const body: Record<string, unknown> = { text, surroundings: surroundings(), ...(skill ? { skill } : {}), ...(images ? { images } : {}) };
    if (this.conversation) body.conversation = this.conversation;
    if (this.agent) body.agent = this.agent;
    if (this.model) body.model = this.model;
    this.starting = true;
    const { conversation, opening } = this;
    try {
      const snapshot = await api.post<Snapshot>("/runs", body, { "idempotency-key": key });
      // The person has gone on to another conversation; this one is read when it is shown again.
      if (opening !== this.opening || conversation !== this.conversation) return;
      this.conversation = snapshot.conversation;
      if (!this.runs.some((run) => run.id === snapshot.run)) this.runs.push(new RunView(snapshot));
      router.go(`#/chat/${snapshot.conversation}`, router.part === "");
      this.follow();
    } catch (error) {
      this.problem = words(error);
      const lost = error instanceof ApiError && error.status === 0;
      if (lost || !this.drafts[conversation]) this.drafts[conversation] = text;
    } finally {
      this.starting = false;
    }
  }

  private keep(queue: Queued[]): void {
    this.queue = queue;
    const name = QUEUE + this.conversation;
    // Images can be more than a browser stores: then the queue lasts as long as the page.
    try {
      if (queue.length) localStorage.setItem(name, JSON.stringify(queue));
      else localStorage.removeItem(name);
    } catch {
      localStorage.removeItem(name);
    }
  }

  withdraw(id: string): void {
    this.keep(this.queue.filter((one) => one.id !== id));
  }

  async steer(one: Queued): Promise<void> {
    if (!this.run) return;
    await api.post(path`/runs/${this.run.id}/steer`, { text: one.text, ...(one.images ? { images: one.images } : {}) });
    this.withdraw(one.id);
  }

  async stop(): Promise<void> {
    if (!this.run || !this.open) return;
    const stopped = await api.post<Snapshot>(path`/runs/${this.run.id}/stop`);
    if (stopped.state === "ended") {
      this.run.snapshot = stopped;
      this.run.stop();
    }
  }

  async readChanges(): Promise<void> {
    if (!this.conversation || !session.may("caller")) return;
    const page = await api
      .get<Schemas["ChangePage"]>(`/changes${query({ conversation: this.conversation })}`)
      .catch(() => null);
    if (page) this.changes = page.items;
  }

  async undo(changes: Schemas["Change"][]): Promise<string> {
    const ids = changes.map((change) => change.id);
    const done = await api.post<Schemas["UndoneDocument"]>("/changes/undo", { changes: ids });
    await this.readChanges();
    return done.refused?.why ?? "";
  }
}

export const chat = new Chat();
