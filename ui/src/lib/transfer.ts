// The setup as one file, by section: out of this daemon, and into another. No secrets are in it.
import { api, path, send, type Schemas } from "./api";

export const SECTIONS = ["settings", "rules", "agents", "memories", "tasks"] as const;
export type Section = (typeof SECTIONS)[number];

export interface SetupFile {
  toolcrib: "setup";
  version: 1;
  settings?: Record<string, unknown>;
  rules?: { effect: string; rule: string; reason?: string }[];
  agents?: Record<string, string>;
  memories?: unknown;
  tasks?: Pick<Schemas["Task"], "description" | "prompt" | "agent" | "zone" | "schedule">[];
}

const MASK = "***";

/** Settings that the person's own file has, as its origin says, and that are no secrets. */
function own(row: Schemas["SettingRow"]): boolean {
  return /config\.toml/.test(row.origin) && row.value !== null && !JSON.stringify(row.value).includes(MASK) && !row.key.startsWith("server.");
}

async function ownRules(): Promise<{ rows: Schemas["RuleRow"][]; tag: string }> {
  const response = await send("GET", "/rules/own");
  return { rows: ((await response.json()) as Schemas["RuleRowPage"]).items, tag: response.headers.get("etag") ?? "" };
}

async function ownAgents(): Promise<Record<string, string>> {
  const { items } = await api.get<Schemas["AgentList"]>("/agents");
  const all: Record<string, string> = {};
  for (const one of items.filter((agent) => agent.writable)) {
    const { text } = await api.get<Schemas["AgentDetails"]>(path`/agents/${one.name}`);
    if (text) all[one.name] = text;
  }
  return all;
}

export async function collect(sections: Section[]): Promise<SetupFile> {
  const file: SetupFile = { toolcrib: "setup", version: 1 };
  if (sections.includes("settings")) {
    const { items } = await api.get<Schemas["SettingRowPage"]>("/settings");
    file.settings = Object.fromEntries(items.filter(own).map((row) => [row.key, row.value]));
  }
  if (sections.includes("rules")) file.rules = (await ownRules()).rows.map(({ effect, rule, reason }) => ({ effect, rule, ...(reason ? { reason } : {}) }));
  if (sections.includes("agents")) file.agents = await ownAgents();
  if (sections.includes("memories")) file.memories = await api.get("/memory/export");
  if (sections.includes("tasks")) {
    const { items } = await api.get<Schemas["TaskPage"]>("/tasks?open=true");
    file.tasks = items.map(({ description, prompt, agent, zone, schedule }) => ({ description, prompt: prompt ?? "", agent: agent ?? null, zone, schedule }));
  }
  return file;
}

/** The sections that a file has; throws what is wrong with it. */
export function sectionsOf(file: unknown): Section[] {
  const setup = file as Partial<SetupFile> | null;
  if (setup?.toolcrib !== "setup" || setup.version !== 1) throw new Error("toolcrib: setup");
  return SECTIONS.filter((name) => setup[name] !== undefined && name !== "tasks");
}

/** Puts sections of a file into force; says how many things each one changed. */
export async function bring(file: SetupFile, sections: Section[], replace: boolean): Promise<Record<string, number>> {
  const done: Record<string, number> = {};
  if (sections.includes("settings")) done.settings = await bringSettings(file.settings ?? {}, replace);
  if (sections.includes("rules")) done.rules = await bringRules(file.rules ?? [], replace);
  if (sections.includes("agents")) done.agents = await bringAgents(file.agents ?? {}, replace);
  if (sections.includes("memories")) {
    const said = await api.post<Schemas["ImportedMemories"]>("/memory/import", { file: file.memories, replace });
    done.memories = said.added + said.replaced + said.removed;
  }
  return done;
}

async function bringSettings(wanted: Record<string, unknown>, replace: boolean): Promise<number> {
  const { items } = await api.get<Schemas["SettingRowPage"]>("/settings");
  let changed = 0;
  for (const [key, value] of Object.entries(wanted)) {
    if (JSON.stringify(items.find((row) => row.key === key)?.value) === JSON.stringify(value)) continue;
    await api.put(path`/settings/${key}`, { value });
    changed++;
  }
  for (const row of replace ? items.filter(own) : []) {
    if (row.key in wanted) continue;
    await api.delete(path`/settings/${row.key}`);
    changed++;
  }
  return changed;
}

async function bringRules(wanted: NonNullable<SetupFile["rules"]>, replace: boolean): Promise<number> {
  const { rows } = await ownRules();
  const same = (a: { effect: string; rule: string }, b: { effect: string; rule: string }) => a.effect === b.effect && a.rule === b.rule;
  const gone = replace ? rows.filter((row) => !wanted.some((one) => same(row, one))) : [];
  // The last one first: the numbers of the others stay.
  for (const row of gone.toSorted((a, b) => b.number - a.number)) {
    await api.delete(path`/rules/own/${row.number}`, { "if-match": (await ownRules()).tag });
  }
  const fresh = wanted.filter((one) => !rows.some((row) => same(row, one)));
  if (fresh.length) await api.post("/rules/own", fresh, { "if-match": (await ownRules()).tag });
  return gone.length + fresh.length;
}

async function bringAgents(wanted: Record<string, string>, replace: boolean): Promise<number> {
  const present = await ownAgents();
  const tag = async (name: string): Promise<Record<string, string>> => {
    if (!(name in present)) return {};
    const found = (await send("GET", path`/agents/${name}`)).headers.get("etag");
    return found ? { "if-match": found } : {};
  };
  let changed = 0;
  for (const [name, text] of Object.entries(wanted)) {
    if (present[name] === text) continue;
    await api.put(path`/agents/${name}`, { text }, await tag(name));
    changed++;
  }
  for (const name of replace ? Object.keys(present) : []) {
    if (name in wanted) continue;
    await api.delete(path`/agents/${name}`, await tag(name));
    changed++;
  }
  return changed;
}
