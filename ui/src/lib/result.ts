// What a tool answered, in the shape that reads best.
import type { Chart } from "./card";
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
/** Of a chart. */
const MAX_SERIES = 4;
const MAX_BARS = 24;

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

/** A chart of a table: the first column that is no number names the rows, numbers are what is drawn. */
export function chartOf(columns: string[], rows: unknown[][]): Chart | null {
  const isNumber = (at: number) => rows.every((row) => typeof row[at] === "number" && Number.isFinite(row[at]));
  const numbers = columns.map((_, at) => at).filter(isNumber).slice(0, MAX_SERIES);
  const label = columns.findIndex((_, at) => !numbers.includes(at) && rows.every((row) => typeof row[at] === "string"));
  if (rows.length < 2 || !numbers.length || label < 0) return null;
  return {
    // Many rows are a course, few are a comparison.
    kind: rows.length > MAX_BARS ? "line" : "bar",
    labels: rows.map((row) => String(row[label])),
    series: numbers.map((at) => ({ name: columns[at]!, values: rows.map((row) => row[at] as number) })),
  };
}

/** The list of an object that has nothing else to show. */
function onlyList(value: unknown): unknown[] | null {
  const object = asObject(value);
  if (!object) return null;
  const lists = Object.values(object).filter(Array.isArray);
  return lists.length === 1 && Object.keys(object).length <= 3 ? (lists[0] as unknown[]) : null;
}
