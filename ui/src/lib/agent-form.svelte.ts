// The file of an agent as a form and as its text: two views of one thing. The daemon turns one into
// the other, so that comments and order of the text stay, and says what is wrong at which field.
import { api, ApiError, path, send, words, type Schemas } from "./api";

type Details = Schemas["AgentDetails"];
type Checked = Schemas["CheckedAgent"];
export type Fields = Record<string, unknown>;

/** Milliseconds without a key after which what was typed is checked. */
const PAUSE_MS = 250;

/** Texts that were changed and not saved, by agent: they outlive a look at another view. */
const unsaved = new Map<string, string>();

export class AgentForm {
  text = $state("");
  /** The keys as they are in the form; `null` = the text cannot be parsed. */
  fields = $state.raw<Fields | null>({});
  prompt = $state("");
  faults = $state.raw<Schemas["AgentFault"][]>([]);
  entries = $state.raw<Schemas["AgentToolEntry"][]>([]);
  tools = $state.raw<Checked["tools"]>(null);
  problem = $state("");
  saved = $state(false);
  busy = $state(false);
  /** The text of the file as it was read. */
  stored = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;
  private newest = 0;
  tag: string;

  constructor(
    readonly name: string,
    details: Details,
    tag: string,
  ) {
    this.tag = tag;
    this.stored = details.text ?? "";
    this.text = unsaved.get(name) ?? this.stored;
    this.prompt = details.prompt;
    this.tools = details;
    void this.check({ text: this.text });
  }

  get changed(): boolean {
    return this.text !== this.stored;
  }

  /** What is wrong with a field, also with a part of it. */
  fault(field: string): string {
    return this.faults.find((one) => one.field === field)?.message ?? "";
  }

  /** What is wrong and belongs to no field of the form. */
  get others(): Schemas["AgentFault"][] {
    return this.faults.filter((one) => !one.field || !KNOWN.has(one.field));
  }

  typed(text: string): void {
    this.text = text;
    this.saved = false;
    unsaved.set(this.name, text);
    this.later(() => this.check({ text }));
  }

  /** Sets a key; `null`, an empty text and an empty list take it out. */
  set(key: string, value: unknown): void {
    const fields = { ...this.fields };
    const empty = value === null || value === "" || (Array.isArray(value) && !value.length && key !== "tools");
    if (empty) delete fields[key];
    else fields[key] = value;
    this.fields = fields;
    this.saved = false;
    this.later(() => this.write());
  }

  setLimit(name: string, value: unknown): void {
    const limits = { ...(this.fields?.limits as Fields | undefined) };
    if (value === null || value === "") delete limits[name];
    else limits[name] = value;
    this.set("limits", Object.keys(limits).length ? limits : null);
  }

  setPrompt(prompt: string): void {
    this.prompt = prompt;
    this.saved = false;
    this.later(() => this.write());
  }

  private write(): Promise<void> {
    return this.check({ text: this.text, fields: this.fields, prompt: this.prompt });
  }

  private later(check: () => Promise<void>): void {
    clearTimeout(this.timer);
    // An answer to what was typed before must not replace what is typed now.
    this.newest++;
    this.pending = check;
    this.timer = setTimeout(() => void this.flush(), PAUSE_MS);
  }
  private pending: (() => Promise<void>) | undefined;

  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    const check = this.pending;
    this.pending = undefined;
    await check?.();
  }

  private async check(body: { text: string; fields?: Fields | null; prompt?: string }): Promise<void> {
    const mine = ++this.newest;
    try {
      const said = await api.post<Checked>(path`/agents/${this.name}/check`, body);
      if (mine !== this.newest) return;
      this.problem = "";
      if (body.fields === undefined) {
        this.fields = said.fields ?? null;
        if (said.fields) this.prompt = said.prompt;
      }
      this.text = said.text;
      if (this.changed) unsaved.set(this.name, said.text);
      else unsaved.delete(this.name);
      this.faults = said.faults;
      this.entries = said.entries;
      if (said.tools) this.tools = said.tools;
    } catch (error) {
      if (mine === this.newest) this.problem = words(error);
    }
  }

  /** Whether it was saved. What is typed stays, whatever comes of it. */
  async save(): Promise<boolean> {
    this.busy = true;
    try {
      await this.flush();
      if (this.problem || this.faults.length) return false;
      const text = this.text;
      const headers: Record<string, string> = this.tag ? { "if-match": this.tag } : {};
      const response = await send("PUT", path`/agents/${this.name}`, { body: { text }, headers });
      this.tag = response.headers.get("etag") ?? "";
      this.stored = text;
      unsaved.delete(this.name);
      this.saved = true;
      return true;
    } catch (error) {
      this.problem = words(error);
      if (error instanceof ApiError && error.status === 412) this.stale = true;
      return false;
    } finally {
      this.busy = false;
    }
  }
  /** Another one wrote the file since it was read. */
  stale = $state(false);

  /** Takes the file as it is now as the one that is replaced; the text here stays. */
  async takeOver(): Promise<void> {
    const response = await send("GET", path`/agents/${this.name}`);
    this.tag = response.headers.get("etag") ?? "";
    this.stored = ((await response.json()) as Details).text ?? "";
    this.stale = false;
    this.problem = "";
  }

  discard(): void {
    unsaved.delete(this.name);
    this.text = this.stored;
    this.saved = false;
    void this.check({ text: this.stored });
  }
}

/** Fields that the form has. */
const KNOWN = new Set([
  "title", "description", "model", "mode", "role", "temperature", "max_output", "skills", "tools", "prompt", "limits",
  "limits.rounds", "limits.calls", "limits.tokens", "limits.time", "limits.cost",
]);

type NamedTool = Pick<Schemas["ToolRow"], "name" | "group" | "source">;

/** The tools that an entry of a list names. What the daemon said of it counts; before it has, what the
 *  entry says: a click must not wait for an answer. */
export function named(entry: string, tools: NamedTool[], entries: Schemas["AgentToolEntry"][]): string[] {
  if (tools.some((tool) => tool.name === entry)) return [entry];
  const known = entries.find((one) => one.entry === entry);
  if (known) return known.tools;
  const [, kind, name] = /^(group|server):(.*)$/.exec(entry) ?? [];
  const fits = kind === "group" ? (tool: NamedTool) => tool.group === name : (tool: NamedTool) => tool.source === (name ?? entry);
  return tools.filter(fits).map((tool) => tool.name);
}

/** The list without some tools: an entry that names more gives way to the others. */
export function without(list: string[], gone: Set<string>, tools: NamedTool[], entries: Schemas["AgentToolEntry"][]): string[] {
  const left = list.flatMap((entry) => {
    const all = named(entry, tools, entries);
    return all.some((tool) => gone.has(tool)) ? all.filter((tool) => !gone.has(tool)) : [entry];
  });
  return [...new Set(left)];
}
