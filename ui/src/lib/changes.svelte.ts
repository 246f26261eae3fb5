// The changes that a view asks the daemon for.
import { words } from "./api";

/** Runs changes one after the other, so that each one is decided on what the one before it left, and
 *  keeps what came of the last one. */
export class Changes {
  /** A change is on its way. What depends on the shown state is disabled meanwhile: a switch that is
   *  clicked twice would set the same value twice. */
  busy = $state(false);
  problem = $state("");
  note = $state("");
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;

  /** `reread` gets the shown state again after every change, also after one that failed. */
  constructor(private readonly reread: () => Promise<unknown> = () => Promise.resolve()) {}

  /** Whether it succeeded. A text that the change gives is the note. */
  run(change: () => Promise<unknown>): Promise<boolean> {
    this.#open += 1;
    this.busy = true;
    const done = this.#last.then(() => this.#one(change));
    this.#last = done;
    return done;
  }

  async #one(change: () => Promise<unknown>): Promise<boolean> {
    this.problem = this.note = "";
    try {
      const said = await change();
      if (typeof said === "string") this.note = said;
      return true;
    } catch (error) {
      this.problem = words(error);
      return false;
    } finally {
      await this.reread();
      this.#open -= 1;
      this.busy = this.#open > 0;
    }
  }
}
