// What the person has answered to a card: the conversation says it, so that a reload, a second tab and
// a message that could not be sent all leave the card as it is.
import { answers, type CardData } from "./card";
import { chat } from "./chat.svelte";
import type { RunView } from "./run.svelte";

export class CardAnswer {
  /** Which sections are open. */
  readonly open = $state<Record<string, boolean>>({});
  /** What is on its way to the daemon. */
  #pressed = $state("");

  constructor(
    private readonly card: CardData,
    private readonly run: RunView | undefined,
  ) {}

  get untrusted(): boolean {
    return Boolean(this.card.untrusted);
  }

  /** The first message behind the run of the card that one of its buttons or forms sends. */
  readonly #found = $derived.by((): { text: string; run?: RunView } | null => {
    const from = chat.runs.findIndex((one) => one.id === this.run?.id);
    if (from < 0) return null;
    for (const run of chat.runs.slice(from + 1)) {
      for (const item of run.snapshot.items) {
        if (item.item === "message" && answers(this.card.blocks, item.text)) return { text: item.text.trim(), run };
      }
    }
    const queued = chat.queue.find((one) => answers(this.card.blocks, one.text));
    return queued ? { text: queued.text } : null;
  });

  get sent(): string {
    return this.#pressed || (this.#found?.text ?? "");
  }

  /** Whether the answer waits or is being worked on. */
  get works(): boolean {
    return this.#pressed !== "" || (this.#found !== null && this.#found.run?.snapshot.state !== "ended");
  }

  async send(text: string): Promise<void> {
    this.#pressed = text.trim();
    await chat.send(text, true).finally(() => (this.#pressed = ""));
  }
}
