// The icon of a tool, by its name or its group.
import type { IconName } from "../parts/Icon.svelte";

const byName: [RegExp, IconName][] = [
  [/delete|remove/, "trash"],
  [/compose_email|reply_email|^send_/, "send"],
  [/notification|alarm/, "bell"],
  [/memory|learning/, "memory"],
  [/task|schedule/, "clock"],
  [/edit|write|patch/, "edit"],
  [/search|find|grep/, "search"],
  [/fetch|url|http|web/, "web"],
  [/shell|command|process|test|git/, "terminal"],
  [/script|python|code/, "script"],
  [/file|read|list|result/, "file"],
  [/time|date/, "clock"],
  [/ask|user|person/, "person"],
];

export function toolIcon(name: string): IconName {
  return byName.find(([pattern]) => pattern.test(name))?.[1] ?? "tools";
}
