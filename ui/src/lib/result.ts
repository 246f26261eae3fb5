// What a tool answered, in the shape that reads best.
import { asObject } from "./run.svelte";

export type Shape =
  | { kind: "text"; text: string }
  | { kind: "table"; columns: string[]; rows: unknown[][] }
  | { kind: "diff"; text: string }
  | { kind: "json"; text: string }
  | { kind: "none" };

/** Rows and columns of a table that are shown; the complete result is an artifact. */
const MAX_ROWS = 200;
const MAX_COLUMNS = 12;

export function shape(result: unknown): Shape {
  if (result === null || result === undefined || result === "") return { kind: "none" };
  if (typeof result === "string") {
    return /^(?:diff |--- |@@ )/m.test(result) && /^[+-]/m.test(result)
      ? { kind: "diff", text: result }
      : { kind: "text", text: result };
  }
  const rows = Array.isArray(result) ? result : onlyList(result);
  if (rows?.length && rows.every((row) => asObject(row) !== null && typeof row === "object")) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row as object)))].slice(0, MAX_COLUMNS);
    const cells = rows.slice(0, MAX_ROWS).map((row) => columns.map((name) => (row as Record<string, unknown>)[name]));
    return { kind: "table", columns, rows: cells };
  }
  return { kind: "json", text: JSON.stringify(result, null, 2) };
}

/** The list of an object that has nothing else to show. */
function onlyList(value: unknown): unknown[] | null {
  const object = asObject(value);
  if (!object) return null;
  const lists = Object.values(object).filter(Array.isArray);
  return lists.length === 1 && Object.keys(object).length <= 3 ? (lists[0] as unknown[]) : null;
}
