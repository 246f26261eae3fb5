// The person's own rules while they are changed: nothing is written before they are saved.
import { api, path, send, type Schemas } from "./api";

type Body = Schemas["RuleBody"];
type Row = Schemas["RuleRow"];

export interface DraftRow {
  key: number;
  effect: Schemas["Effect"];
  rule: string;
  /** The row of the file; `null` = it is new. */
  stored: Row | null;
  gone: boolean;
}

function bodyOf(row: DraftRow): Body {
  if (!row.stored) return { effect: row.effect, rule: row.rule.trim() };
  const { number: _number, layer: _layer, origin: _origin, counts: _counts, ...body } = row.stored;
  return { ...body, effect: row.effect, rule: row.rule.trim() };
}

export class RuleDraft {
  rows = $state<DraftRow[]>([]);
  findings = $state.raw<Schemas["FindingRow"][]>([]);
  private tag = "";
  private keys = 0;

  /** Rows that would be in the file. */
  private get kept(): DraftRow[] {
    return this.rows.filter((row) => !row.gone && row.rule.trim());
  }

  get changed(): boolean {
    return this.rows.some((row) => this.isChanged(row));
  }

  isChanged(row: DraftRow): boolean {
    return row.stored ? row.gone || row.rule.trim() !== row.stored.rule || row.effect !== row.stored.effect : !row.gone && row.rule.trim() !== "";
  }

  async read(): Promise<void> {
    const response = await send("GET", "/rules/own");
    this.tag = response.headers.get("etag") ?? "";
    const { items } = (await response.json()) as Schemas["RuleRowPage"];
    this.rows = items.map((stored) => ({ key: ++this.keys, effect: stored.effect, rule: stored.rule, stored, gone: false }));
    this.findings = [];
  }

  add(effect: Schemas["Effect"] = "ask", rule = ""): void {
    this.rows.push({ key: ++this.keys, effect, rule, stored: null, gone: false });
  }

  /** What is wrong with the rules as they would be. */
  async lint(): Promise<void> {
    const rules = this.kept.map(bodyOf);
    this.findings = rules.length ? (await api.post<Schemas["LintedRules"]>("/rules/lint", { rules })).findings : [];
  }

  /** What is said of a row: origins are `rules:NUMBER` of what was sent. */
  said(row: DraftRow): Schemas["FindingRow"][] {
    const number = this.kept.indexOf(row) + 1;
    return number ? this.findings.filter((one) => one.origin === `rules:${number}` && one.rule.trim() === row.rule.trim()) : [];
  }

  /** Which past calls would be judged differently. */
  replay(): Promise<Schemas["ReplayReply"]> {
    return api.post("/rules/replay", { rules: this.kept.map(bodyOf) });
  }

  /** New ones first: a rule that is refused leaves the file as it was. */
  async save(): Promise<void> {
    const changed = this.rows.filter((row) => this.isChanged(row));
    const fresh = changed.filter((row) => !row.gone).map(bodyOf);
    const old = changed.filter((row) => row.stored).map((row) => row.stored!.number);
    if (fresh.length) this.tag = (await api.post<Schemas["RulesChanged"]>("/rules/own", fresh, { "if-match": this.tag })).etag;
    // The last one first: the numbers of the others stay.
    for (const number of old.toSorted((a, b) => b - a)) {
      this.tag = (await api.delete<Schemas["RulesChanged"]>(path`/rules/own/${number}`, { "if-match": this.tag })).etag;
    }
    await this.read();
  }
}
