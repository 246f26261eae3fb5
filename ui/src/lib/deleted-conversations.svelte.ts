// Deletion of conversations and its undo: for some seconds at hand, for 30 days in a list.
import { api, path, query, words, type Schemas } from "./api";
import { live } from "./live.svelte";
import { router } from "./router.svelte";

export type Gone = Schemas["ConversationRow"] & { deleted_at?: number | null };

/** How long the undo of the last deletion is at hand. */
const AT_HAND_MS = 10_000;

class Deleted {
  /** The last one, while its undo is at hand. */
  last = $state<{ conversation: string; title: string } | null>(null);
  problem = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;

  async remove(conversation: string, title: string): Promise<void> {
    await api.delete(path`/conversations/${conversation}`);
    this.problem = "";
    this.last = { conversation, title };
    this.goOn();
    if (router.view === "chat" && router.part === conversation) router.go("#/chat");
    await live.readConversations();
  }

  /** Brings the last one back and opens it. */
  async undo(): Promise<void> {
    const { last } = this;
    if (!last) return;
    try {
      await this.restore(last.conversation);
      router.go(`#/chat/${last.conversation}`);
    } catch (error) {
      this.problem = words(error);
    }
  }

  async restore(conversation: string): Promise<void> {
    await api.post(path`/conversations/${conversation}/restore`);
    if (this.last?.conversation === conversation) this.dismiss();
    await live.readConversations();
  }

  list = async (): Promise<Gone[]> => (await api.get<{ items: Gone[] }>(`/conversations${query({ deleted: true, limit: 500 })}`)).items;

  removeForever = (conversation: string): Promise<void> => api.delete(path`/conversations/${conversation}` + query({ forever: true }));

  dismiss(): void {
    this.stay();
    this.last = null;
    this.problem = "";
  }

  /** The time stands still while the pointer or the focus is on the undo. */
  stay(): void {
    clearTimeout(this.timer);
  }

  goOn(): void {
    this.stay();
    this.timer = setTimeout(() => this.dismiss(), AT_HAND_MS);
  }
}

export const deleted = new Deleted();
