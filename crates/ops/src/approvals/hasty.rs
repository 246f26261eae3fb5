//! Approvals that were given faster than the question can be read: a sign that too many questions
//! are asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_core::{Clock as _, Decision, SystemClock};

use crate::context::StoreContext;
use crate::error::OpError;

/// An approval within this time was given without reading the question: at 238 words a minute
/// (Brysbaert 2019, silent reading of English) this time is sufficient for 12 words, and a question
/// with its reason and its arguments has more.
pub const HASTY_MS: i64 = 3_000;
/// Minimum number of hasty approvals of one operation to report: the third one is a habit.
pub const REPORTED_FROM: u64 = 3;
/// Number of days to look back.
pub const DAYS: i64 = 30;
/// Maximum number of questions that are examined, the newest.
const SCAN_LIMIT: usize = 1_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Approvals of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HastyApprovals {
    /// The operation in question: `TOOL` or `TOOL.ACTION`.
    pub operation: String,
    /// Approvals in the last 30 days.
    pub approvals: u64,
    /// Number of approvals given within 3 seconds of the question.
    pub hasty: u64,
}

/// Returns the operations with at least three hasty approvals in the last 30 days, the most
/// frequent first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn hasty_approvals(ctx: &StoreContext<'_>) -> Result<Vec<HastyApprovals>, OpError> {
    let since = SystemClock.now_ms() - DAYS * DAY_MS;
    let questions = ctx.stores.approvals.list(ctx.owner, SCAN_LIMIT).await?;
    let mut by_operation: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (waiting, decided) in questions.iter().filter(|one| is_recent_approval(one, since)) {
        let asked = &waiting.request;
        let Some(decided) = decided else { continue };
        let (approvals, hasty) = by_operation.entry(asked.operation.clone()).or_default();
        *approvals += 1;
        *hasty += u64::from(decided.decided_at - asked.requested_at < HASTY_MS);
    }
    let mut found: Vec<HastyApprovals> = by_operation
        .into_iter()
        .filter(|(_, (_, hasty))| *hasty >= REPORTED_FROM)
        .map(|(operation, (approvals, hasty))| HastyApprovals { operation, approvals, hasty })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.hasty));
    Ok(found)
}

/// Returns whether a person let the call run after `since`; an answer to a question of the model
/// does not count.
fn is_recent_approval((waiting, decided): &ApprovalWithDecision, since: i64) -> bool {
    waiting.request.question.is_none()
        && decided.as_ref().is_some_and(|record| {
            record.decided_at >= since && matches!(record.decision, Decision::Approve { .. })
        })
}
