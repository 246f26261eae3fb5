// The views in the order of the navigation; those behind the chat are loaded when they are opened.
import type { Component } from "svelte";
import type { IconName } from "../parts/Icon.svelte";
import type { Key } from "../texts/en";

export interface View {
  name: string;
  word: Key;
  icon: IconName;
  key?: string;
  daily: boolean;
  /** `null` = part of the first load. */
  load: (() => Promise<{ default: Component }>) | null;
}

export const views: View[] = [
  { name: "chat", word: "nav.chat", icon: "chat", key: "c", daily: true, load: null },
  { name: "inbox", word: "nav.inbox", icon: "inbox", key: "i", daily: true, load: () => import("../views/Inbox.svelte") },
  { name: "tools", word: "nav.tools", icon: "tools", key: "t", daily: true, load: () => import("../views/Tools.svelte") },
  { name: "history", word: "nav.history", icon: "history", key: "h", daily: true, load: () => import("../views/History.svelte") },
  { name: "agents", word: "nav.agents", icon: "agent", key: "a", daily: false, load: () => import("../views/Agents.svelte") },
  { name: "rules", word: "nav.rules", icon: "rules", key: "r", daily: false, load: () => import("../views/Rules.svelte") },
  { name: "servers", word: "nav.servers", icon: "server", daily: false, load: () => import("../views/Servers.svelte") },
  { name: "apps", word: "nav.apps", icon: "link", daily: false, load: () => import("../views/Apps.svelte") },
  { name: "channels", word: "nav.channels", icon: "phone", daily: false, load: () => import("../views/Channels.svelte") },
  { name: "sandbox", word: "nav.sandbox", icon: "terminal", key: "b", daily: false, load: () => import("../views/Sandbox.svelte") },
  { name: "automation", word: "nav.automation", icon: "clock", key: "o", daily: false, load: () => import("../views/Automation.svelte") },
  { name: "drafts", word: "nav.drafts", icon: "send", daily: false, load: () => import("../views/Drafts.svelte") },
  { name: "memory", word: "nav.memory", icon: "memory", key: "m", daily: false, load: () => import("../views/Memory.svelte") },
  { name: "lists", word: "nav.lists", icon: "list", key: "l", daily: false, load: () => import("../views/Lists.svelte") },
  { name: "documents", word: "nav.documents", icon: "file", key: "d", daily: false, load: () => import("../views/Documents.svelte") },
  { name: "usage", word: "nav.usage", icon: "usage", key: "u", daily: false, load: () => import("../views/Usage.svelte") },
  { name: "settings", word: "nav.settings", icon: "settings", key: "s", daily: false, load: () => import("../views/Settings.svelte") },
];
