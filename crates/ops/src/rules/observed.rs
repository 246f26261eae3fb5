//! Counts the past calls that observed rules would have decided.

use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{RuleSet, RuleSource};
use toolcrib_core::CallFilter;

use super::past_call::PastCall;
use super::replay::SCAN_LIMIT;
use crate::context::OpContext;
use crate::error::OpError;

/// An observed rule, and the past calls that it matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedRule {
    /// Position of the rule: `PATH:LINE`.
    pub origin: String,
    /// Number of past calls that it would have decided completely, or in a part of the command
    /// line.
    pub matched: usize,
    /// Number of compared past calls, among the newest 1,000 of the history.
    pub compared: usize,
}

/// Returns the observed rules among these, with the past calls that they match.
///
/// # Errors
/// [`OpError::Store`] if the history cannot be read.
pub async fn observed(
    ctx: &OpContext<'_>,
    rules: &[RuleSource],
) -> Result<Vec<ObservedRule>, OpError> {
    let filter = CallFilter {
        owner: ctx.store.owner.to_owned(),
        limit: SCAN_LIMIT,
        ..CallFilter::default()
    };
    let rows = ctx.store.stores.history.calls(filter).await?;
    let calls: Vec<PastCall> = rows.into_iter().filter_map(PastCall::from_row).collect();
    let of_rule = |rule: &RuleSource| {
        let mut alone = rule.clone();
        alone.text.is_observed = false;
        let alone = RuleSet::compile(vec![alone]).ok()?;
        let matched = calls.iter().filter(|call| call.is_covered(&alone, ctx.toolcrib)).count();
        Some(ObservedRule { origin: rule.origin.clone(), matched, compared: calls.len() })
    };
    Ok(rules.iter().filter(|rule| rule.text.is_observed).filter_map(of_rule).collect())
}
