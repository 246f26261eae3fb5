//! Advice for the owner on a decision of policy.

use toolcrib_app::Preset;
use toolcrib_core::{Decider, ErrorType, Obstacle, Outcome, Ruling, Verdict};

use super::exclusion_advice;

/// Names the part of policy for people.
fn decider_word(by: Decider) -> &'static str {
    match by {
        Decider::Rule => "a rule",
        Decider::Permission => "a permission",
        Decider::Taint => "what the run has read",
        Decider::Tool => "the tool's own setting",
        Decider::Switch => "a switch",
        Decider::Preset => "the preset",
        Decider::Gate => "a gate of the host",
    }
}

/// Renders a ruling in one line: `deny, by a rule: …`.
#[must_use]
pub fn ruling_line(ruling: &Ruling) -> String {
    format!("{}, by {}: {}", ruling.verdict, decider_word(ruling.by), ruling.reason)
}

/// A call that did not run, or that was refused while it ran.
#[derive(Debug, Clone, Copy)]
pub struct RefusedCall<'a> {
    /// The type of its error.
    pub error: ErrorType,
    /// The tool, or the requested name if there is no such tool.
    pub tool: &'a str,
    /// The operation that policy names.
    pub operation: Option<&'a str>,
    /// The decision of policy.
    pub ruling: Option<&'a Ruling>,
    /// The obstacle that keeps the call from running, if the owner can remove it.
    pub obstacle: Option<&'a Obstacle>,
}

impl RefusedCall<'_> {
    /// Returns advice on the call; `None` if there is none.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let is_decided = matches!(
            self.error,
            ErrorType::PolicyDenied
                | ErrorType::PermissionDenied
                | ErrorType::ApprovalDenied
                | ErrorType::ApprovalExpired
        );
        let ruling = self.ruling.filter(|ruling| is_decided && ruling.verdict != Verdict::Allow);
        let operation = self.operation.unwrap_or(self.tool);
        match (ruling, self.obstacle) {
            (_, Some(obstacle @ Obstacle::Address { .. })) => {
                Some(obstacle_advice(obstacle, self.tool))
            }
            (Some(ruling), _) => ruling_advice(ruling, self.tool, operation),
            (None, obstacle) => error_advice(self.error, obstacle, self.tool),
        }
    }
}

/// Returns advice on a call with this outcome; `None` if the call ran, or there is no advice.
#[must_use]
pub fn outcome_advice(outcome: &Outcome) -> Option<String> {
    let error = outcome.result.as_ref().err()?;
    RefusedCall {
        error: error.error_type,
        tool: outcome.tool.as_ref().map_or(outcome.asked.as_str(), |tool| tool.as_str()),
        operation: outcome.report.operation.as_deref(),
        ruling: outcome.report.ruling.as_ref(),
        obstacle: error.obstacle.as_deref(),
    }
    .advice()
}

/// Tools that ask for an approval of a private network address.
const HTTP_TOOLS: [&str; 2] = ["fetch_url", "http_request"];

/// Returns advice on an obstacle that the owner can remove.
fn obstacle_advice(obstacle: &Obstacle, tool: &str) -> String {
    match obstacle {
        Obstacle::Address { target } => format!(
            "If that address is yours to open: `--allow-net {target}`, or `toolcrib config set allow_net '[\"{target}\"]'` for always."
        ),
        Obstacle::Excluded { reason } => exclusion_advice(reason, tool, None),
    }
}

/// Returns advice on a ruling that suspended or refused the call; `None` if the call ran, or there
/// is no advice.
#[must_use]
pub fn ruling_advice(ruling: &Ruling, tool: &str, operation: &str) -> Option<String> {
    let text = match (ruling.verdict, ruling.by, &ruling.rule) {
        (Verdict::Allow, ..) => return None,
        (_, Decider::Rule, Some(rule)) => format!(
            "The rule `{} {}` decided, which is written at {}. To change that, change it there; `toolcrib rules list` shows all rules, and `toolcrib rules explain` says what they make of other calls.",
            rule.effect, rule.rule, rule.origin
        ),
        (_, Decider::Rule, None) => {
            "A rule decided; `toolcrib rules list` shows all rules.".to_owned()
        }
        (Verdict::Deny, Decider::Permission, _) => {
            "The permission is refused in the section [permissions] of the configuration; `toolcrib config list` says which file sets it.".to_owned()
        }
        (Verdict::Ask, Decider::Permission, _) if HTTP_TOOLS.contains(&tool) => format!(
            "`toolcrib approve always` remembers an approval of {operation}. If that address is yours to open for all calls: `--allow-net HOST:PORT`, or `allow_net` in the configuration."
        ),
        (Verdict::Ask, Decider::Permission, _) => format!(
            "Approving it for longer (`toolcrib approve always`) lets {operation} use the permission without asking, and `granted` in the section [permissions] of the configuration lets every tool."
        ),
        (_, Decider::Taint, _) => format!(
            "Such calls ask in a run that has read this, even if a rule allows them. `taint = false` in [tools.{tool}] of the configuration is for tools that you trust with anything."
        ),
        (_, Decider::Tool, _) => {
            format!("`ask = true` in [tools.{tool}] of the configuration decided.")
        }
        (_, Decider::Switch, _) => format!(
            "`toolcrib tool ask` set it. `toolcrib tool enable {tool}` lets calls run without being asked about for that reason; where its group asks, `toolcrib tool enable --group NAME` does."
        ),
        (Verdict::Deny, Decider::Preset, _) => format!(
            "The preset {} decided: only safe reads run, and nothing asks. `--policy` or `policy` in the configuration chooses another.",
            Preset::Locked
        ),
        (Verdict::Ask, Decider::Preset, _) => format!(
            "No rule speaks about it, so its risk decided. `toolcrib rules add allow '{operation}'` lets it run without asking, and `--policy` or `policy` in the configuration chooses another preset."
        ),
        (_, Decider::Gate, _) => return None,
    };
    Some(text)
}

/// Returns advice on a call that failed before policy evaluated it.
#[must_use]
pub fn error_advice(error: ErrorType, obstacle: Option<&Obstacle>, tool: &str) -> Option<String> {
    if let Some(obstacle) = obstacle {
        return Some(obstacle_advice(obstacle, tool));
    }
    match error {
        ErrorType::ToolDisabled | ErrorType::ToolNotAvailable | ErrorType::NotConfigured => {
            Some(format!("`toolcrib tool why {tool}` says what keeps it away, and what to do."))
        }
        ErrorType::ToolNotFound => Some("`toolcrib tool list` shows what there is.".to_owned()),
        ErrorType::ToolsDisabled => Some(
            "Tools are switched off; `toolcrib tool list --all` shows them, `toolcrib tool enable` switches them on.".to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::RuleRef;

    fn rule() -> RuleRef {
        RuleRef {
            effect: Verdict::Deny,
            rule: "Bash(git push:*)".into(),
            origin: "rules.toml:12".into(),
            reason: Some("pushing leaves this machine".into()),
        }
    }

    #[test]
    fn advice_names_the_place_of_every_decision() {
        let check = |verdict, by, rule: Option<RuleRef>, part: &str| {
            let ruling = Ruling { verdict, by, rule, reason: "because".into() };
            let advice = ruling_advice(&ruling, "http_request", "http_request.post").unwrap();
            assert!(advice.contains(part), "{advice}");
        };
        check(Verdict::Deny, Decider::Rule, Some(rule()), "written at rules.toml:12");
        check(Verdict::Deny, Decider::Permission, None, "[permissions]");
        check(Verdict::Ask, Decider::Permission, None, "allow_net");
        check(Verdict::Ask, Decider::Tool, None, "[tools.http_request]");
        check(Verdict::Ask, Decider::Switch, None, "tool enable http_request");
        check(Verdict::Ask, Decider::Preset, None, "rules add allow 'http_request.post'");
        check(Verdict::Deny, Decider::Preset, None, "preset locked");
        check(Verdict::Ask, Decider::Taint, None, "taint = false");
        let runs = Ruling {
            verdict: Verdict::Allow,
            by: Decider::Rule,
            rule: Some(rule()),
            reason: "x".into(),
        };
        assert_eq!(ruling_advice(&runs, "x", "x"), None);
    }
}
