// What is known of one call beyond its card, read when it is opened.
import { api, path, type Schemas } from "./api";
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

export const explain = (call: string) => api.get<Explained>(path`/calls/${call}/explain`);

/** The rule of a ruling with its file and line, as far as it has one. */
export function ruleText(ruling: Ruling | null | undefined): string {
  const rule = ruling?.rule;
  if (!rule) return "";
  if (typeof rule === "string") return rule;
  return [rule.rule ?? rule.text, rule.origin].filter(Boolean).join(" · ");
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
