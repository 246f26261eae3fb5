// A stored run, step by step: what was said, asked for and answered, in the order in which it happened.
import type { CallItem, Item, Snapshot } from "./run.svelte";

export type StepKind = "message" | "answer" | "asked" | "ended" | "question" | "notice";

export interface Step {
  kind: StepKind;
  /** The tool of a call, or the beginning of what was said. */
  about: string;
  /** How a call ended. */
  state?: string;
  /** Everything up to this step. */
  items: Item[];
}

/** The calls of one answer are asked for together; their ends follow, those that ran shorter first. */
export function stepsOf(snapshot: Snapshot): Step[] {
  const steps: Step[] = [];
  let shown: Item[] = [];
  const add = (kind: StepKind, about: string, items: Item[], state?: string) => {
    shown = items;
    steps.push({ kind, about: about.split("\n")[0]!.slice(0, 80), items, ...(state ? { state } : {}) });
  };
  let open: CallItem[] = [];
  const end = () => {
    for (const call of open.toSorted((a, b) => (a.elapsed_ms ?? 0) - (b.elapsed_ms ?? 0))) {
      add("ended", call.tool, shown.map((item) => (isCall(item, call) ? call : item)), call.outcome ?? call.state);
    }
    open = [];
  };
  for (const item of snapshot.items) {
    if (item.item === "call") {
      if (open.length && open[0]!.round !== item.round) end();
      // Without its id, so that nothing asks the daemon about a call that is shown as it was.
      const asked = { ...item, call: null, state: "input-available", outcome: null, output: null, cards: [], elapsed_ms: null } as unknown as CallItem;
      add("asked", item.tool, [...shown, asked]);
      open.push(item);
      continue;
    }
    if (item.item !== "question") end();
    const about = item.item === "question" ? String((item.question as { question?: string })?.question ?? "") : item.text;
    add(item.item === "message" ? "message" : item.item, about, [...shown, item]);
  }
  end();
  return steps;
}

const isCall = (item: Item, call: CallItem) => item.item === "call" && item.round === call.round && item.index === call.index;
