//! Finds faults in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Finding, RuleSet, RuleSource, Severity};

/// A finding about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FindingRow")]
pub struct RuleFinding {
    /// `error` (the rule is refused) or `warning`.
    pub severity: String,
    /// Position of the rule: `PATH:LINE`, or `rules:NUMBER` in the request.
    pub origin: String,
    /// The rule as written.
    pub rule: String,
    /// The fault, and the spelling that works.
    pub what: String,
}

impl RuleFinding {
    /// Returns whether the rule is refused.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == "error"
    }
}

impl From<Finding> for RuleFinding {
    fn from(finding: Finding) -> Self {
        let Finding { severity, origin, rule, what } = finding;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Self { severity: severity.to_owned(), origin, rule, what }
    }
}

/// The findings about all rules of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LintedRules")]
pub struct LintReply {
    /// Number of rules.
    pub rules: usize,
    /// Files that could not be parsed as rules, each with the reason.
    pub broken: Vec<String>,
    /// The findings, in the order of the rules.
    pub findings: Vec<RuleFinding>,
}

/// Finds faults in rules that are in force together, such as the rules of all layers. `known` are
/// the names of the tools that exist (see [`super::known_tools`]). A rule for another tool only
/// gets a warning: the tool may be added later.
#[must_use]
pub fn lint(rules: &[RuleSource], known: &[String]) -> LintReply {
    let anywhere = RuleSet::lint(rules);
    let mut here = RuleSet::lint_for(rules, known);
    for finding in here.iter_mut().filter(|finding| !anywhere.contains(finding)) {
        finding.severity = Severity::Warning;
    }
    // `lint_for` does not check a rule for an unknown tool any further.
    let missed: Vec<Finding> =
        anywhere.into_iter().filter(|finding| !here.contains(finding)).collect();
    let findings = here.into_iter().chain(missed).map(RuleFinding::from).collect();
    LintReply { rules: rules.len(), broken: Vec::new(), findings }
}

impl LintReply {
    /// Adds the findings about further rules, which are not in force together with these.
    pub fn extend(&mut self, other: Self) {
        self.rules += other.rules;
        self.broken.extend(other.broken);
        self.findings.extend(other.findings);
    }
}
