// What arrived from outside for a heartbeat. The API gives it only as part of the prompt, in which every
// such text is fenced: each of its lines begins with `>`, so that no text can end or begin a fence.

export interface Arrival {
  kind: "mail" | "message" | "notification";
  from: string;
  text: string;
}

const BEGIN = /^\[outside text: (mail|message|notification) from (.*)\]$/;
const END = "[end of outside text]";

export function arrivalsOf(prompt: string): Arrival[] {
  const found: Arrival[] = [];
  let open: { kind: Arrival["kind"]; from: string; lines: string[] } | null = null;
  for (const line of prompt.split("\n")) {
    const [, kind, from] = BEGIN.exec(line) ?? [];
    if (kind) open = { kind: kind as Arrival["kind"], from: from!, lines: [] };
    else if (open && line === END) {
      found.push({ kind: open.kind, from: open.from, text: open.lines.join("\n") });
      open = null;
    } else if (open) open.lines.push(line.replace(/^> ?/, ""));
  }
  return found;
}
