// What the person chose for this browser.
import type { Urgency } from "./urgency";

type Theme = "system" | "light" | "dark";
const STORED = "toolcrib-look";

interface Stored {
  theme: Theme;
  compact: boolean;
  keys: boolean;
  folded: string[];
  urgency: Urgency;
}

class Prefs {
  private stored: Stored = { theme: "system", compact: false, keys: true, folded: [], urgency: "low", ...(JSON.parse(localStorage.getItem(STORED) ?? "{}") as Partial<Stored>) };
  theme = $state<Theme>(this.stored.theme);
  /** Calls as one line instead of cards that open by themselves. */
  compact = $state(this.stored.compact);
  /** Whether single letters act. */
  keys = $state(this.stored.keys);
  /** Sections that are folded, by view and name. */
  folded = $state(this.stored.folded);
  /** Notifications of at least this urgency stand above every view. */
  urgency = $state(this.stored.urgency);

  constructor() {
    this.apply();
  }

  save(): void {
    localStorage.setItem(STORED, JSON.stringify({ theme: this.theme, compact: this.compact, keys: this.keys, folded: this.folded, urgency: this.urgency }));
    this.apply();
  }

  fold(section: string, folded: boolean): void {
    this.folded = folded ? [...this.folded, section] : this.folded.filter((one) => one !== section);
    this.save();
  }

  private apply(): void {
    if (this.theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.theme;
  }
}

export const prefs = new Prefs();
