//! Runs the examples of rules: `match` and `not_match`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{RuleSet, RuleSource};

/// The result of the examples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestedRules")]
pub struct TestReply {
    /// Number of rules.
    pub rules: usize,
    /// Number of rules that have examples.
    pub rules_with_examples: usize,
    /// Number of examples.
    pub examples: usize,
    /// Failed examples, each with its rule.
    pub failed: Vec<String>,
    /// Rules that are invalid apart from their examples, and files that cannot be parsed, each with
    /// the reason.
    pub unusable: Vec<String>,
}

/// Runs the examples of each rule.
#[must_use]
pub fn test(rules: &[RuleSource]) -> TestReply {
    let mut reply = TestReply { rules: rules.len(), ..TestReply::default() };
    for rule in rules {
        let own = rule.text.matches.len() + rule.text.not_match.len();
        reply.examples += own;
        reply.rules_with_examples += usize::from(own > 0);
        // A fault that remains without the examples is a fault of the rule.
        let mut bare = rule.clone();
        (bare.text.matches, bare.text.not_match) = (Vec::new(), Vec::new());
        let without = RuleSet::compile(vec![bare]).err().unwrap_or_default();
        for fault in RuleSet::compile(vec![rule.clone()]).err().unwrap_or_default() {
            let is_of_rule = without.contains(&fault);
            let list = if is_of_rule { &mut reply.unusable } else { &mut reply.failed };
            list.push(fault.to_string());
        }
    }
    reply
}
