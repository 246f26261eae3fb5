// The blocks of a card (`rich_render`), as the daemon has checked them. What this page does not know
// is shown as data.
export interface Button { label: string; action: "callback" | "toggle" | "open_url" | "copy"; value: string }
export interface Field { name: string; label?: string; kind?: "text" | "multiline" | "number" | "date" | "choice" | "checkbox"; options?: string[]; value?: string; required?: boolean }
export interface Chart { kind: "bar" | "line" | "pie"; title?: string; labels: string[]; series: { name?: string; values: number[] }[]; unit?: string }
export type Level = "info" | "success" | "warning" | "error";

export type CardBlock =
  | { type: "text"; text: string }
  | { type: "metric"; label: string; value: string; unit?: string; change?: string; trend?: "up" | "down" | "flat" }
  | { type: "card"; title: string; subtitle?: string; text?: string; blocks?: CardBlock[]; buttons?: Button[] }
  | ({ type: "chart" } & Chart)
  | { type: "progress"; label: string; value: number; max?: number }
  | { type: "timeline"; items: { title: string; time?: string; text?: string; state?: "done" | "current" | "open" }[] }
  | { type: "alert"; level?: Level; title?: string; text: string }
  | { type: "badge"; label: string; level?: Level }
  | { type: "keyvalue"; title?: string; items: { key: string; value: string }[] }
  | { type: "columns"; columns: { blocks: CardBlock[] }[] }
  | { type: "section"; title: string; id?: string; collapsed?: boolean; blocks: CardBlock[] }
  | { type: "table"; columns: string[]; rows: string[][] }
  | { type: "buttons"; buttons: Button[] }
  | { type: "form"; title?: string; fields: Field[]; submit?: string };

export interface CardData { blocks: CardBlock[]; untrusted?: string }

/** A card of a call, whether its event or its snapshot has it. */
export function cardOf(value: unknown): CardData | null {
  const held = value as { card?: unknown; blocks?: unknown } | null;
  const card = (held?.card ?? held) as { blocks?: unknown; untrusted?: unknown } | null;
  if (!Array.isArray(card?.blocks)) return null;
  return { blocks: card.blocks as CardBlock[], ...(typeof card.untrusted === "string" ? { untrusted: card.untrusted } : {}) };
}

/** Whether a card of a call is HTML: the daemon serves it for a frame. */
export const isHtmlCard = (value: unknown): boolean => typeof (value as { html?: unknown } | null)?.html === "string";

/** What a form sends as a message of the person. */
export function formText(fields: Field[], values: Record<string, string>): string {
  return fields.map((field) => `${field.label ?? field.name}: ${values[field.name] ?? ""}`).join("\n");
}

/** Whether a button or a form of these blocks sends this text. */
export function answers(blocks: CardBlock[], text: string): boolean {
  const said = text.trim();
  return blocks.some((block) => {
    switch (block.type) {
      case "buttons":
        return pressed(block.buttons, said);
      case "form":
        return filled(block.fields, said);
      case "card":
        return pressed(block.buttons ?? [], said) || answers(block.blocks ?? [], said);
      case "section":
        return answers(block.blocks, said);
      case "columns":
        return block.columns.some((column) => answers(column.blocks, said));
      default:
        return false;
    }
  });
}

const pressed = (buttons: Button[], said: string) =>
  buttons.some((button) => button.action === "callback" && button.value.trim() === said);

/** A text of a form has its labels in their order; a value may have lines of its own. */
function filled(fields: Field[], said: string): boolean {
  let from = 0;
  return fields.length > 0 && fields.every((field, at) => {
    const label = `${field.label ?? field.name}:`;
    const found = at === 0 ? (said.startsWith(label) ? 0 : -1) : said.indexOf(`\n${label}`, from);
    from = found + label.length;
    return found >= 0;
  });
}

export interface Bar { x: number; y: number; width: number; height: number; series: number }
export const WIDTH = 320;
export const HEIGHT = 140;

/** From where to where the values of a chart go; zero is always in it. */
function range(chart: Chart): [number, number] {
  const all = chart.series.flatMap((one) => one.values);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  return low === high ? [low, low + 1] : [low, high];
}

export function bars(chart: Chart): Bar[] {
  const [low, high] = range(chart);
  const y = (value: number) => HEIGHT - ((value - low) / (high - low)) * HEIGHT;
  const group = WIDTH / Math.max(1, chart.labels.length);
  const width = (group * 0.8) / Math.max(1, chart.series.length);
  return chart.series.flatMap((one, series) =>
    one.values.map((value, at) => ({ x: at * group + group * 0.1 + series * width, y: Math.min(y(value), y(0)), width: Math.max(1, width - 1), height: Math.max(1, Math.abs(y(value) - y(0))), series })),
  );
}

export function lines(chart: Chart): string[] {
  const [low, high] = range(chart);
  const step = WIDTH / Math.max(1, chart.labels.length - 1);
  return chart.series.map((one) => one.values.map((value, at) => `${(at * step).toFixed(1)},${(HEIGHT - ((value - low) / (high - low)) * HEIGHT).toFixed(1)}`).join(" "));
}

/** The parts of a pie: a path for each value that is not negative. */
export function slices(values: number[]): string[] {
  const sum = values.reduce((all, value) => all + Math.max(0, value), 0);
  const point = (part: number) => `${(70 + 68 * Math.sin(2 * Math.PI * part)).toFixed(2)} ${(70 - 68 * Math.cos(2 * Math.PI * part)).toFixed(2)}`;
  let from = 0;
  return values.map((value) => {
    const part = sum ? Math.max(0, value) / sum : 0;
    const begin = from;
    from += part;
    if (part >= 0.9999) return "M70 2a68 68 0 1 1-.01 0z";
    return part ? `M70 70L${point(begin)}A68 68 0 ${part > 0.5 ? 1 : 0} 1 ${point(from)}z` : "";
  });
}
