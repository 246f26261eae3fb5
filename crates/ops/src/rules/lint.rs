//! Finds what is wrong with rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Finding, RuleSet, RuleSource, Severity};

/// A finding about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FindingRow")]
pub struct RuleFinding {
    /// `error` (the rule is refused) or `warning`.
    pub severity: String,
    /// Where the rule is written: `PATH:LINE`, or `rules:NUMBER` of the request.
    pub origin: String,
    /// The rule as it is written.
    pub rule: String,
    /// What is wrong with it, and the spelling that works.
    pub what: String,
}

impl RuleFinding {
    /// Whether the rule is refused.
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
    /// Rules that were read.
    pub rules: usize,
    /// Files that could not be read as rules, each with the reason.
    pub broken: Vec<String>,
    /// The findings, in the order of the rules.
    pub findings: Vec<RuleFinding>,
}

/// Finds what is wrong with rules that hold together, such as those of all layers. `known` are the
/// names of the tools that exist (see [`super::known_tools`]). A rule for another tool only gets a
/// warning: the tool may be added later.
#[must_use]
pub fn lint(rules: &[RuleSource], known: &[String]) -> LintReply {
    let anywhere = RuleSet::lint(rules);
    let mut here = RuleSet::lint_for(rules, known);
    for finding in here.iter_mut().filter(|finding| !anywhere.contains(finding)) {
        finding.severity = Severity::Warning;
    }
    // A rule for an unknown tool is checked no further by `lint_for`.
    let missed: Vec<Finding> =
        anywhere.into_iter().filter(|finding| !here.contains(finding)).collect();
    let findings = here.into_iter().chain(missed).map(RuleFinding::from).collect();
    LintReply { rules: rules.len(), broken: Vec::new(), findings }
}

impl LintReply {
    /// Adds the findings about further rules, which do not hold together with these.
    pub fn extend(&mut self, other: Self) {
        self.rules += other.rules;
        self.broken.extend(other.broken);
        self.findings.extend(other.findings);
    }
}
