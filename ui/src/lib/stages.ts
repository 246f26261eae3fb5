// The stages of the pipeline, in order.
export const STAGES = [
  "receive", "switch", "resolve", "decode", "repeat", "guard", "assess", "gates",
  "budget", "approve", "admit", "intent", "run", "shape", "settle",
] as const;

export interface Stage {
  stage: string;
  verdict: string;
  note?: string;
  nanos: number;
}

/** How a tick looks: passed, decided by a person or rule, stopped, the run itself, or never reached. */
export function tick(stage: Stage | undefined, name: string, outcome: string): "none" | "pass" | "ask" | "stop" | "run" {
  if (!stage || stage.verdict === "skipped") return "none";
  if (stage.verdict === "stopped") return "stop";
  if (stage.verdict === "suspended" || name === "approve") return "ask";
  if (name === "run") return ["failed", "timed_out"].includes(outcome) ? "stop" : "run";
  return "pass";
}
