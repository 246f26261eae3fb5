//! Matches of observed rules, for `rules list`.

use std::collections::HashMap;

use toolcrib_app::rules::RuleSource;
use toolcrib_ops::rules::{self, ObservedRule};

use super::rules_context::RulesContext;
use crate::output::Failure;
use crate::{bootstrap, op_context};

/// Returns the observed rules by their origin; empty if there are none, or there is no history.
pub(super) fn observed_rules(
    here: &RulesContext,
    rules: &[RuleSource],
) -> Result<HashMap<String, ObservedRule>, Failure> {
    if !rules.iter().any(|rule| rule.text.is_observed) {
        return Ok(HashMap::new());
    }
    let toolcrib = here.toolcrib()?;
    let stores = bootstrap::stores()?;
    let found = bootstrap::block_on(async {
        let ctx = op_context::for_history(&toolcrib, &stores);
        Ok(rules::observed(&ctx, rules).await?)
    })?;
    Ok(found.into_iter().map(|one| (one.origin.clone(), one)).collect())
}
