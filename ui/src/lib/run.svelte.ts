// One run as the page shows it: the snapshot of the daemon, kept up to date by the events after it.
// The steps are those of docs/rest.md, which the daemon follows itself.
import { t } from "./i18n.svelte";
import { openStream, type StreamEvent } from "./stream";
import type { components } from "./api.gen";

type S = components["schemas"];
export type AnswerItem = { item: "answer" } & S["ModelAnswer"];
export type CallItem = { item: "call" } & S["SnapshotCall"];
export type QuestionItem = { item: "question"; call: string; approval: string; question: unknown; said?: unknown };
// The generator of types leaves the tag of the items out.
export type Item =
  | { item: "message"; kind: string; text: string; images?: number }
  | AnswerItem
  | CallItem
  | QuestionItem
  | { item: "notice"; text: string };
export type Snapshot = Omit<S["RunSnapshot"], "items"> & { items: Item[] };

type Fields = Record<string, unknown>;

/** How long pieces of an answer are collected. */
const PIECES_MS = 30;

export class RunView {
  snapshot = $state<Snapshot>()!;
  /** Whether its stream stands; a run that has ended needs none. */
  live = $state(false);
  /** When the call was first seen to run here, for its clock. */
  readonly since = new Map<string, number>();
  private close: (() => void) | undefined;
  /** Text that has arrived and is not in the snapshot yet. */
  private arrived = { text: "", reasoning: "" };
  private due: ReturnType<typeof setTimeout> | undefined;

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
  }

  get id(): string {
    return this.snapshot.run;
  }

  get working(): boolean {
    return this.snapshot.state === "running";
  }

  get calls(): CallItem[] {
    return this.snapshot.items.filter((item) => item.item === "call");
  }

  follow(ended: () => void): void {
    if (this.close || this.snapshot.state === "ended") return;
    this.close = openStream(`/runs/${this.id}/events`, {
      open: () => (this.live = true),
      away: () => (this.live = false),
      refused: () => (this.live = false),
      event: (event) => {
        this.apply(event);
        if (this.snapshot.state === "ended") {
          this.stop();
          ended();
        }
      },
    });
  }

  stop(): void {
    this.flush();
    this.close?.();
    this.close = undefined;
    this.live = false;
  }

  /** Each change of the snapshot runs what depends on it. A model says some hundred pieces a second: those of
   *  a moment are one change, and every other event comes behind them. */
  private add(part: "text" | "reasoning", piece: string): void {
    this.arrived[part] += piece;
    this.due ??= setTimeout(() => this.flush(), PIECES_MS);
  }

  private flush(): void {
    clearTimeout(this.due);
    this.due = undefined;
    const { text, reasoning } = this.arrived;
    if (!text && !reasoning) return;
    this.arrived = { text: "", reasoning: "" };
    this.answer((answer) => {
      if (text) answer.text += text;
      if (reasoning) answer.reasoning += reasoning;
    });
  }

  apply({ name, data }: StreamEvent): void {
    const fields = (data ?? {}) as Fields;
    if (name === "text-delta" || name === "reasoning-delta") {
      this.add(name === "text-delta" ? "text" : "reasoning", fields.text as string);
      return;
    }
    this.flush();
    const items = this.snapshot.items;
    switch (name) {
      case "snapshot":
        this.snapshot = data as Snapshot;
        break;
      case "run-start":
        Object.assign(this.snapshot, { state: "running", status: null, message: null, waiting: [] });
        break;
      case "request": {
        this.dropIncomplete();
        const model = `${fields.provider}/${fields.model}`;
        const round = fields.round as number;
        const answer = { item: "answer", round, model, text: "", reasoning: "", done: false };
        this.snapshot.items.push(answer as AnswerItem);
        break;
      }
      case "retry":
        this.dropWriting();
        this.answer((answer) => Object.assign(answer, { text: "", reasoning: "" }));
        this.notice(`${fields.why}`);
        break;
      case "fallback":
        this.notice(`${fields.from}: ${fields.why}${fields.to ? ` → ${fields.to}` : ""}`);
        break;
      case "answer":
        this.snapshot.text = fields.text as string;
        this.answer((answer) => {
          const { text, stop, usage, cost, provider, model } = fields;
          Object.assign(answer, { text, stop, usage, cost, model: `${provider}/${model}`, done: true });
        });
        break;
      case "tool":
        this.call(fields);
        break;
      case "question": {
        const { call, approval, ...question } = fields;
        const known = items.some((item) => item.item === "question" && item.call === call);
        if (!known) items.push({ item: "question", call, approval, question } as unknown as QuestionItem);
        break;
      }
      case "question-answered": {
        const asked = items.find((item) => item.item === "question" && item.call === fields.call);
        if (asked?.item === "question") asked.said = fields.said;
        break;
      }
      case "message":
        items.push({ item: "message", kind: fields.kind as string, text: fields.text as string, images: (fields.images as number | undefined) ?? 0 });
        break;
      case "notice":
        this.notice(fields.text as string);
        break;
      case "compaction":
        this.notice(t("chat.compacted", { count: fields.covers as number }));
        break;
      case "trimmed":
        this.notice(t("chat.trimmed", { count: fields.dropped as number }));
        break;
      case "skill":
        this.snapshot.skills.push(fields.name as string);
        break;
      case "run-paused":
        this.snapshot.state = "paused";
        this.snapshot.status = fields.status as string;
        this.snapshot.waiting = (fields.waiting ?? []) as Snapshot["waiting"];
        break;
      case "run-end":
        this.dropIncomplete();
        this.snapshot.state = "ended";
        Object.assign(this.snapshot, {
          status: fields.status, message: fields.message ?? null, text: fields.text,
          rounds: fields.rounds, usage: fields.usage, cost: fields.cost, waiting: [],
        });
        break;
    }
  }

  private notice(text: string): void {
    this.snapshot.items.push({ item: "notice", text });
  }

  private answer(change: (answer: AnswerItem) => void): void {
    const last = this.snapshot.items.findLast((item) => item.item === "answer");
    if (last?.item === "answer" && !last.done) change(last);
  }

  private dropWriting(): void {
    const writing = (item: Item) => item.item === "call" && item.state === "input-streaming";
    this.snapshot.items = this.snapshot.items.filter((item) => !writing(item));
  }

  private dropIncomplete(): void {
    this.dropWriting();
    this.snapshot.items = this.snapshot.items.filter((item) => item.item !== "answer" || item.done);
  }

  private call(fields: Fields): void {
    const { round, index, tool, state } = fields as { round: number; index: number; tool: string; state: string };
    const id = (fields.call ?? null) as string | null;
    const items = this.snapshot.items;
    const found = items.findLast(
      (item): item is CallItem =>
        item.item === "call" && (id && item.call ? item.call === id : item.round === round && item.index === index && !(item.call && id)),
    );
    let call = found;
    if (!call) {
      items.push({ item: "call", round, index, call: id, tool, state, written: "" } as CallItem);
      call = items[items.length - 1] as CallItem;
    }
    if (id) call.call = id;
    call.tool = tool;
    switch (state) {
      case "input-streaming":
        call.state = state;
        call.written += (fields.delta as string) ?? "";
        break;
      case "input-available":
        call.state = state;
        call.args = unwrap(fields.args);
        call.written = "";
        if (id) this.since.set(id, Date.now());
        break;
      case "progress":
        call.progress = fields.progress ?? fields;
        break;
      case "approval-requested":
        call.state = state;
        call.approval = fields.approval;
        break;
      case "approval-responded":
        call.state = state;
        call.decision = fields.decision;
        if (id) this.since.set(id, Date.now());
        break;
      default:
        call.state = state;
        // A call that succeeded says no more than its state.
        call.outcome = (fields.outcome as string | undefined) ?? "succeeded";
        call.error_type = (fields.error_type ?? null) as string | null;
        call.output = fields.output;
        if (Array.isArray(fields.cards)) call.cards = fields.cards;
        call.elapsed_ms = fields.elapsed_ms as number;
    }
  }
}

/** Arguments as the snapshot has them: the text or the value, without the name of the variant. */
function unwrap(args: unknown): unknown {
  if (args && typeof args === "object") {
    const one = args as Fields;
    if ("value" in one) return one.value;
    if ("text" in one) return one.text;
    if ("broken" in one) return one.broken;
  }
  return args;
}

/** Arguments as an object, where they are one. */
export function asObject(args: unknown): Record<string, unknown> | null {
  let value = args;
  if (typeof value === "string") {
    try {
      // A comma too many is the fault that models make most; the daemon repairs it as well.
      value = JSON.parse(value.replace(/,(\s*[}\]])/g, "$1"));
    } catch {
      return null;
    }
  }
  return value && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}

/** The state of a call in the words of the page. */
export function callState(call: CallItem): string {
  if (call.outcome) return call.outcome;
  switch (call.state) {
    case "input-streaming":
      return "writing";
    case "approval-requested":
      return "waiting";
    default:
      return "running";
  }
}
