// Numbers, times and texts as people read them.
import { i18n, t } from "./i18n.svelte";

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "";
  if (ms === 0) return "< 1 ms";
  if (ms < 1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${number(ms / 1000, ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}:${String(Math.floor((ms % 60_000) / 1000)).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function nanos(ns: number): string {
  return ns < 1000 ? `${ns} ns` : duration(ns / 1e6);
}

export function number(value: number, digits = 0): string {
  const format = { maximumFractionDigits: digits, minimumFractionDigits: 0 };
  return new Intl.NumberFormat(i18n.language, format).format(value);
}

export function compact(value: number): string {
  const format = { notation: "compact", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(i18n.language, format).format(value);
}

/** A place in an order, such as 2nd. */
export function ordinal(number: number): string {
  const rule = new Intl.PluralRules(i18n.language, { type: "ordinal" }).select(number);
  return t(rule === "one" || rule === "two" || rule === "few" ? `ordinal.${rule}` : "ordinal.other", { number });
}

export function clock(ms: number): string {
  const at = new Date(ms);
  const today = new Date().toDateString() === at.toDateString();
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
  const format = today ? time : ({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const);
  return new Intl.DateTimeFormat(i18n.language, format).format(at);
}

/** A day and a time, such as one that lies ahead. */
export function moment(ms: number): string {
  const format = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return new Intl.DateTimeFormat(i18n.language, format).format(new Date(ms));
}

/** How long ago, or how far ahead. */
export function ago(ms: number): string {
  const seconds = Math.round((ms - Date.now()) / 1000);
  const format = new Intl.RelativeTimeFormat(i18n.language, { numeric: "auto", style: "short" });
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [[60, "second"], [60, "minute"], [24, "hour"], [Infinity, "day"]];
  let value = seconds;
  for (const [size, unit] of steps) {
    if (Math.abs(value) < size) return format.format(Math.round(value), unit);
    value /= size;
  }
  return format.format(Math.round(value), "day");
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${number(count / 1e3, 1)} kB` : `${number(count / 1e6, 1)} MB`;
}

/** Characters that change how the rest of a text looks: escapes of terminals, direction, zero width. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** A text of others with its hidden characters shown as their numbers. */
export function visible(text: string | null | undefined): string {
  return (text ?? "").replace(/\r\n/g, "\n").replace(HIDDEN, (one) => {
    return `⟨${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** The name of an agent as a title. */
export function agentTitle(name: string): string {
  return name.replaceAll(/[-_]/g, " ").replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}
