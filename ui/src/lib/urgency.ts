// How much a notification wants attention: an icon, a colour, and an order.
import type { IconName } from "../parts/Icon.svelte";
import type { Schemas } from "./api";

export type Urgency = Schemas["Urgency"];

/** The most urgent first. */
export const URGENCIES = ["high", "normal", "low"] as const satisfies readonly Urgency[];
export const urgencyLook: Record<Urgency, [IconName, string]> = { high: ["octagon", "bad"], normal: ["bell", ""], low: ["dash", "dim"] };

/** The most urgent first, and the newest first among equals, as the daemon lists them. */
export const byUrgency = <T extends { urgency: Urgency }>(all: T[]): T[] => all.toSorted((a, b) => URGENCIES.indexOf(a.urgency) - URGENCIES.indexOf(b.urgency));
