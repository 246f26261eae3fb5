// The change of a file that a call would make, in parts that can be left out one by one.
import { applyPatch, parsePatch, structuredPatch, type StructuredPatch } from "diff";

import { api, query, type Schemas } from "./api";

export interface Change {
  path: string;
  patch: StructuredPatch;
  /** The arguments that make only these parts of the change; `null` = no part is left. */
  without(left: boolean[]): Record<string, unknown> | null;
}

/** Lines around a change. */
const CONTEXT = 3;
/** A longer text is shown as arguments, not compared. */
const LONGEST = 400_000;

function chosen(patch: StructuredPatch, left: boolean[]): StructuredPatch {
  return { ...patch, hunks: patch.hunks.filter((_, at) => left[at]) };
}

function compare(path: string, before: string, after: string): StructuredPatch | null {
  if (before.length + after.length > LONGEST) return null;
  const patch = structuredPatch(path, path, before, after, undefined, undefined, { context: CONTEXT, timeout: 500 });
  return patch?.hunks.length ? patch : null;
}

/** The change of a call of a file tool; `null` where there is nothing to compare. */
export async function changeOf(tool: string, args: Record<string, unknown>): Promise<Change | null> {
  const path = typeof args.path === "string" ? args.path : "";
  if (tool === "edit_file" && typeof args.old_text === "string" && typeof args.new_text === "string") {
    return rewritten(path, args.old_text, args.new_text, (text) => ({ ...args, new_text: text }));
  }
  if (tool === "write_file" && typeof args.content === "string" && args.mode !== "append") {
    const before = await api.get<Schemas["FileDocument"]>(`/files${query({ path })}`).catch(() => null);
    // A text that was made harmless is not letter for letter what the file has.
    if (before?.neutralised.length) return null;
    return rewritten(path, before?.text ?? "", args.content, (content) => ({ ...args, content }));
  }
  if (tool === "diff_editor" && typeof args.diff === "string") return patched(path, args);
  return null;
}

function rewritten(path: string, before: string, after: string, put: (text: string) => Record<string, unknown>): Change | null {
  const patch = compare(path, before, after);
  if (!patch) return null;
  return {
    path,
    patch,
    without(left) {
      if (!left.some(Boolean)) return null;
      const text = applyPatch(before, chosen(patch, left));
      return typeof text === "string" ? put(text) : null;
    },
  };
}

function patched(path: string, args: Record<string, unknown>): Change | null {
  const text = args.diff as string;
  let files: StructuredPatch[];
  try {
    files = parsePatch(text);
  } catch {
    return null;
  }
  const [patch] = files;
  if (files.length !== 1 || !patch?.hunks.length) return null;
  return {
    path: path || patch.newFileName || "",
    patch,
    without(left) {
      if (!left.some(Boolean)) return null;
      const heads = `--- ${patch.oldFileName}\n+++ ${patch.newFileName}\n`;
      const parts = chosen(patch, left).hunks.map((hunk) => `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@\n${hunk.lines.join("\n")}\n`);
      return { ...args, diff: heads + parts.join("") };
    },
  };
}
