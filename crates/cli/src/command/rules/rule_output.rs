//! A rule as the commands show it.

use serde_json::{Value, json};
use toolcrib_app::rules::{Layer, RuleSource};
use toolcrib_core::Verdict;

/// Whose rule it is, for people.
pub(super) fn layer_word(layer: Layer) -> &'static str {
    match layer {
        Layer::Managed => "managed",
        Layer::User => "user",
        Layer::Project => "project",
        Layer::Untrusted => "untrusted",
    }
}

/// A rule for machines.
pub(super) fn rule_json(number: usize, rule: &RuleSource) -> Value {
    let RuleSource { text, layer, origin } = rule;
    json!({
        "number": number,
        "effect": text.effect,
        "rule": text.rule,
        "layer": layer,
        "origin": origin,
        "agents": text.agents,
        "channels": text.channels,
        "workspaces": text.workspaces,
        "reason": text.reason,
        "expires": text.expires,
        "unsafe": text.is_unsafe,
        "observe": text.is_observed,
        "counts": is_effective(rule),
    })
}

/// Whether a rule has any effect: allow rules of an untrusted workspace have none, and one that is
/// only observed has none either.
pub(super) fn is_effective(rule: &RuleSource) -> bool {
    let is_trusted = rule.layer != Layer::Untrusted || rule.text.effect != Verdict::Allow;
    is_trusted && !rule.text.is_observed
}
