//! Past calls that a grant would have matched: a check of its globs before it is given, and while
//! it is in force.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{CallFilter, CallRow, Grant, GrantScope};

use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of past calls that are compared with a grant, the newest.
pub const SCAN_LIMIT: usize = 1_000;

/// Past calls that a grant would have matched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PastCalls {
    /// The calls, newest first.
    pub calls: Vec<CallRow>,
    /// Whether the history has more calls than the [`SCAN_LIMIT`].
    pub truncated: bool,
}

/// Returns the past calls that this grant would have matched.
///
/// # Errors
/// [`OpError::Store`] if the history cannot be read.
pub async fn past_calls(ctx: &StoreContext<'_>, grant: &Grant) -> Result<PastCalls, OpError> {
    let filter = CallFilter {
        owner: grant.owner.clone(),
        operation: Some(grant.operation.clone()),
        run: grant.run.filter(|_| grant.scope == GrantScope::Run),
        conversation: grant
            .conversation
            .clone()
            .filter(|_| grant.scope == GrantScope::Conversation),
        limit: SCAN_LIMIT,
        ..CallFilter::default()
    };
    let rows = ctx.stores.history.calls(filter).await?;
    let truncated = rows.len() >= SCAN_LIMIT;
    let calls = rows.into_iter().filter(|row| would_match(grant, row)).collect();
    Ok(PastCalls { calls, truncated })
}

fn would_match(grant: &Grant, row: &CallRow) -> bool {
    let facts = &row.facts;
    let args: Option<Value> =
        facts.args.as_deref().and_then(|args| serde_json::from_str(args).ok());
    // The row does not contain arguments that are too long: such a call matches only if the grant
    // accepts any arguments.
    let fits = grant.args.is_empty() || args.is_some_and(|args| grant.matches_args(&args));
    fits && facts.definition_hash.as_deref() == Some(grant.definition_hash.as_str())
        && facts.risk.is_none_or(|risk| risk <= grant.risk)
}
