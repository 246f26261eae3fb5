// What is known of one call beyond its card, read when it is opened.
import { api, path, query, type Schemas } from "./api";
import type { Stage } from "./stages";

export interface Ruling {
  verdict: string;
  by?: string;
  reason: string;
  rule?: { rule?: string; text?: string; origin?: string } | string;
}

export interface Explained extends Omit<Schemas["Explained"], "stages" | "ruling"> {
  stages: Stage[];
  ruling?: Ruling | null;
}

/** How long one request waits for the end of a call, in milliseconds; then it asks again. */
const WAIT_MS = 10_000;
/** Between two looks at a call that waits for a person. */
const LOOK_MS = 700;

/** Makes a call again as a new one, and tells of it until it has ended or `alive` says no. */
export async function again(call: string, told: (now: Schemas["CallDocument"]) => void, alive: () => boolean): Promise<void> {
  const key = { "idempotency-key": crypto.randomUUID() };
  let now = await api.post<Schemas["CallDocument"]>(path`/calls/${call}/again`, { wait_ms: 0 }, key);
  told(now);
  while (alive() && ["running", "waiting"].includes(now.status)) {
    if (now.status === "waiting") await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    now = await api.get<Schemas["CallDocument"]>(path`/calls/${now.call}` + `?wait_ms=${WAIT_MS}`);
    if (alive()) told(now);
  }
}

/** The calls of a call, such as a script, oldest first. */
export async function callsOf(call: string): Promise<Schemas["CallSummary"][]> {
  const page = await api.get<Schemas["CallSummaryPage"]>(`/calls${query({ parent: call, limit: 200 })}`);
  return page.items.toReversed();
}

export const explain = (call: string) => api.get<Explained>(path`/calls/${call}/explain`);

/** The rule of a ruling with its file and line, as far as it has one. */
export function ruleText(ruling: Ruling | null | undefined): string {
  const rule = ruling?.rule;
  if (!rule) return "";
  if (typeof rule === "string") return rule;
  return [rule.rule ?? rule.text, rule.origin].filter(Boolean).join(" · ");
}

/** The rule of a ruling, unless its reason names it already. */
export function ruleBeside(ruling: Ruling | null | undefined): string {
  const rule = ruling?.rule;
  return rule && typeof rule !== "string" && names(ruling.reason, rule) ? "" : ruleText(ruling);
}

/** Whether a reason says which rule it comes from. */
export function names(reason: string, rule: { rule?: string; text?: string; origin?: string }): boolean {
  return reason.includes(rule.rule ?? rule.text ?? "") && reason.includes(rule.origin ?? "");
}

/** One line that says what a call is about: the argument that names it best. */
export function summary(args: Record<string, unknown> | null): string {
  if (!args) return "";
  const names = ["command", "path", "url", "query", "question", "pattern", "name", "text", "code", "script"];
  const name = names.find((one) => typeof args[one] === "string" && args[one]) ?? Object.keys(args).find((one) => typeof args[one] === "string");
  const value = name ? args[name] : undefined;
  if (typeof value === "string") return value.split("\n")[0]!.slice(0, 200);
  const rest = Object.values(args);
  return rest.length ? JSON.stringify(rest[0]).slice(0, 200) : "";
}
