// A decision in words: what, by whom, when.
import type { components } from "./api.gen";
import { clock } from "./format";
import { t } from "./i18n.svelte";

export function decisionText(approval: components["schemas"]["Approval"]): string {
  const decision = (approval.decision ?? {}) as { decision?: string; decided_by?: string; decided_at?: number };
  const words: Record<string, string> = {
    approve: t("approval.approved"), deny: t("approval.denied"), skip: t("approval.skipped"),
    edit: t("approval.edit.done"), answer: t("approval.answered"),
  };
  const what = words[decision.decision ?? ""] ?? t("state.expired");
  const time = clock(decision.decided_at ?? approval.expires_at ?? approval.requested_at);
  return t("approval.decided", { what, who: decision.decided_by ?? "—", time });
}
