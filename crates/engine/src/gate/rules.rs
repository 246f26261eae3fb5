//! Gate for the rules of people and for calls that always ask.

use std::fmt::Write as _;
use std::sync::Arc;

use toolcrib_core::{
    Clock, Decider, ErrorType, Gate, GateInput, ReasonKind, RuleRef, ToolError, Verdict, Vote,
    effective_channel,
};

use crate::rules::{Evaluation, RuleQuery, RuleSet};

/// Maximum number of allow rules that a refusal names.
const NAMED: usize = 3;

/// Votes as the rules decide. Without rules, it asks about calls that always ask (the floor).
pub(crate) struct RulesGate {
    rules: RuleSet,
    clock: Arc<dyn Clock>,
}

impl RulesGate {
    pub(crate) fn new(rules: RuleSet, clock: Arc<dyn Clock>) -> Self {
        Self { rules, clock }
    }

    fn asked<'a>(&self, proposal: &GateInput<'a>) -> RuleQuery<'a> {
        RuleQuery {
            operation: proposal.operation,
            tool: proposal.spec.name.as_str(),
            args: proposal.args,
            agent: &proposal.context.agent,
            channel: effective_channel(proposal.context, proposal.origin),
            workspace: &proposal.context.workspace,
            now_ms: self.clock.now_ms(),
        }
    }

    /// Returns the question about a program that runs without a sandbox although a rule denies a
    /// path, which only a sandbox can enforce; `None` if no rule denies a path.
    fn ask_unconfined(&self, asked: &RuleQuery<'_>) -> Option<Vote> {
        let denied = self.rules.denied_paths(asked);
        let rule = denied.scopes().first().map(|(rule, _)| RuleRef::clone(rule))?;
        Some(Vote::Ask {
            kind: ReasonKind::Rule,
            reason: format!(
                "it runs without a sandbox, so it can read and change what the rule {} denies",
                rule.named()
            ),
            rule: Some(rule),
        })
    }

    /// Creates the refusal: the refused operation, the rule, and for the model the allowed
    /// alternatives.
    fn refusal(&self, asked: &RuleQuery<'_>, judgement: &Evaluation) -> ToolError {
        let mut text = format!("{} is not allowed: ", asked.operation);
        match &judgement.rule {
            Some(rule) => {
                let _ = write!(text, "the rule {} ({}", rule.rule, rule.origin);
                if let Some(reason) = &rule.reason {
                    let _ = write!(text, ": {reason}");
                }
                text.push_str(") denies it.");
            }
            None => {
                let _ = write!(text, "{}.", judgement.reason);
            }
        }
        let denied = judgement.segments.iter().filter(|s| s.verdict == Some(Verdict::Deny));
        let parts: Vec<String> = denied.take(NAMED).map(|s| format!("`{}`", s.text)).collect();
        if !parts.is_empty() && judgement.segments.len() > 1 {
            let _ = write!(text, " What is denied of it: {}.", parts.join(", "));
        }
        let mut advice = "Do not retry it.".to_owned();
        let allowed = self.rules.allowing_rules(asked, &judgement.segments, NAMED);
        if !allowed.is_empty() {
            let names: Vec<&str> = allowed.iter().map(|rule| rule.rule.as_str()).collect();
            let _ = write!(advice, " Allowed would be: {}.", names.join(", "));
        } else if !parts.is_empty() && parts.len() < judgement.segments.len() {
            advice.push_str(" No rule denies the rest: you may do that without it.");
        }
        ToolError::new(ErrorType::PolicyDenied, text).with_instruction(&advice)
    }
}

impl Gate for RulesGate {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn decider(&self) -> Decider {
        Decider::Rule
    }

    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String> {
        let asked = self.asked(proposal);
        let judgement = self.rules.evaluate_tool(&asked, proposal.spec);
        if proposal.unconfined
            && judgement.verdict != Some(Verdict::Deny)
            && !judgement.always_asks
            && let Some(vote) = self.ask_unconfined(&asked)
        {
            return Ok(vote);
        }
        // Without rules the preset decides about everything above the floor.
        if self.rules.is_empty() && !judgement.always_asks {
            return Ok(Vote::Abstain);
        }
        Ok(match (judgement.verdict, &judgement.rule) {
            (None, _) => Vote::Abstain,
            (Some(Verdict::Deny), _) => {
                Vote::Deny { error: self.refusal(&asked, &judgement), rule: judgement.rule }
            }
            (Some(Verdict::Allow), Some(rule)) => Vote::Allow { rule: rule.clone() },
            (Some(Verdict::Ask | Verdict::Allow), rule) => Vote::Ask {
                kind: if judgement.always_asks { ReasonKind::Floor } else { ReasonKind::Rule },
                reason: match rule {
                    Some(rule) => format!("{}: {}", judgement.reason, rule),
                    None => judgement.reason,
                },
                rule: judgement.rule,
            },
        })
    }
}
