// What a view shows of the daemon, read again when it may have changed.
import { words } from "./api";
import { live } from "./live.svelte";

/** One reading of the daemon: its newest answer, and why there is none. */
export class Reading<T> {
  value = $state.raw<T | null>(null);
  problem = $state("");
  #newest = 0;

  constructor(private readonly ask: () => Promise<T>) {}

  /** Answers that a later question has overtaken are dropped: they show the state before a change. */
  read = async (): Promise<void> => {
    const mine = (this.#newest += 1);
    try {
      const value = await this.ask();
      if (mine !== this.#newest) return;
      this.value = value;
      this.problem = "";
    } catch (error) {
      if (mine === this.#newest) this.problem = words(error);
    }
  };

  /** An effect that reads now, when a run begins or ends, and every `ms` while the page is seen. */
  keep(ms: number) {
    $effect(() => {
      void Object.keys(live.runs).length;
      void this.read();
      const timer = setInterval(() => {
        if (document.visibilityState === "visible" && !live.away) void this.read();
      }, ms);
      return () => clearInterval(timer);
    });
  }
}
