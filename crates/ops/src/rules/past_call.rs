//! A past call, and its evaluation by rules.

use serde_json::Value;
use toolcrib_app::rules::{Evaluation, RuleQuery, RuleSet};
use toolcrib_app::{Preset, Toolcrib};
use toolcrib_core::{CallRow, Clock as _, Risk, SystemClock, Verdict, effective_channel};

use super::verdict::{CallVerdict, DefaultVerdict};

/// A call of the history with its arguments.
pub(super) struct PastCall {
    pub(super) row: CallRow,
    pub(super) args: Value,
    tool: String,
    operation: String,
}

impl PastCall {
    /// Returns `None` for a call that rules cannot evaluate: it was refused before its risk was
    /// assessed, or its arguments were too long to be stored.
    pub(super) fn from_row(row: CallRow) -> Option<Self> {
        let facts = &row.facts;
        facts.risk?;
        let args = serde_json::from_str(facts.args.as_deref()?).ok()?;
        let tool = facts.tool.as_ref()?.to_string();
        let operation = facts.operation.clone().unwrap_or_else(|| tool.clone());
        Some(Self { args, tool, operation, row })
    }

    pub(super) fn operation(&self) -> &str {
        &self.operation
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Evaluates the call with its arguments.
    pub(super) fn evaluate(&self, rules: &RuleSet, toolcrib: &Toolcrib) -> Evaluation {
        self.evaluate_with(&self.args, rules, toolcrib)
    }

    /// Evaluates the call with other arguments.
    pub(super) fn evaluate_with(
        &self,
        args: &Value,
        rules: &RuleSet,
        toolcrib: &Toolcrib,
    ) -> Evaluation {
        let facts = &self.row.facts;
        let asked = RuleQuery {
            operation: &self.operation,
            tool: &self.tool,
            args,
            agent: &facts.context.agent,
            channel: effective_channel(&facts.context, facts.origin),
            workspace: &facts.context.workspace,
            now_ms: SystemClock.now_ms(),
        };
        match toolcrib.spec(&self.tool) {
            Some(spec) => rules.evaluate_tool(&asked, &spec),
            None => rules.evaluate(&asked),
        }
    }

    /// Returns the verdict of rules and preset on the call.
    pub(super) fn verdict(
        &self,
        rules: &RuleSet,
        preset: Preset,
        toolcrib: &Toolcrib,
    ) -> CallVerdict {
        let facts = &self.row.facts;
        // A call without an assessment counts as risky as one of an unknown tool.
        let (risk, effect) = (facts.risk.unwrap_or(Risk::High), facts.effect.unwrap_or_default());
        let verdict = preset.verdict(risk, effect);
        let reason = format!("no rule speaks, and the preset {preset} says {verdict}");
        let otherwise = DefaultVerdict { verdict, by: "preset", reason };
        CallVerdict::new(self.evaluate(rules, toolcrib), &otherwise)
    }

    /// Returns whether a rule matches the call or a part of its command line.
    pub(super) fn is_covered(&self, rules: &RuleSet, toolcrib: &Toolcrib) -> bool {
        let said = self.evaluate(rules, toolcrib);
        said.rule.is_some() || said.segments.iter().any(|part| part.rule.is_some())
    }

    /// Returns whether a rule of this set allows the call with these arguments.
    pub(super) fn is_allowed(&self, args: &Value, rules: &RuleSet, toolcrib: &Toolcrib) -> bool {
        let said = self.evaluate_with(args, rules, toolcrib);
        said.verdict == Some(Verdict::Allow) && said.rule.is_some()
    }
}
