// What the composer offers while `/` or `@` is typed: skills, agents and files of the workspace.
import { api, query, type Schemas } from "./api";

export interface Trigger {
  kind: "skill" | "mention";
  /** What is typed behind the sign. */
  find: string;
  /** Where the sign is. */
  from: number;
}

export interface Offer {
  kind: "skill" | "agent" | "folder" | "file";
  name: string;
  about: string;
}

/** Entries that are offered at once. */
const MOST = 8;

/** What is being typed at the caret, if that is a name to complete. */
export function trigger(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const skill = /^\/([\w-]*)$/.exec(before);
  if (skill) return { kind: "skill", find: skill[1]!, from: 0 };
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return mention ? { kind: "mention", find: mention[1]!, from: caret - mention[1]!.length - 1 } : null;
}

export async function offers(at: Trigger): Promise<Offer[]> {
  const find = at.find.toLowerCase();
  const fits = (offer: Offer) => offer.name.toLowerCase().includes(find) || (find.length > 1 && offer.about.toLowerCase().includes(find));
  if (at.kind === "skill") {
    const { items } = await api.get<Schemas["SkillRowPage"]>("/skills");
    return items.map((one): Offer => ({ kind: "skill", name: one.name, about: one.description })).filter(fits).slice(0, MOST);
  }
  const [agents, files] = await Promise.all([api.get<Schemas["AgentList"]>("/agents"), listed(at.find)]);
  const named = agents.items.map((one): Offer => ({ kind: "agent", name: one.name, about: one.title })).filter(fits);
  return [...named, ...files].slice(0, MOST);
}

/** Files and folders whose path begins with what is typed, in the folder that it names. */
async function listed(typed: string): Promise<Offer[]> {
  const end = typed.lastIndexOf("/");
  const folder = end < 0 ? "" : typed.slice(0, end);
  const begin = typed.slice(end + 1).toLowerCase();
  const found = await api.get<Schemas["CallDocument"]>(`/files/list${query({ path: folder })}`).catch(() => null);
  const entries = (found?.structured as { entries?: { name: string; type: string; bytes?: number }[] } | null)?.entries ?? [];
  return entries
    .filter((one) => one.name.toLowerCase().includes(begin))
    .map((one): Offer => ({ kind: one.type === "dir" || one.type === "folder" || one.type === "directory" ? "folder" : "file", name: folder ? `${folder}/${one.name}` : one.name, about: "" }));
}
