//! A note about approvals that were given faster than the question can be read.

use toolcrib_app::Stores;
use toolcrib_ops::approvals::{DAYS, HASTY_MS, HastyApprovals, hasty_approvals};

use crate::op_context;
use crate::output::Failure;

/// Returns one line for each operation with hasty approvals; empty if there is none.
pub(crate) async fn hasty_notes(stores: &Stores) -> Result<Vec<String>, Failure> {
    let found = hasty_approvals(&op_context::for_stores(stores)).await?;
    Ok(found.iter().map(note).collect())
}

fn note(found: &HastyApprovals) -> String {
    let HastyApprovals { operation, approvals, hasty } = found;
    format!(
        "{hasty} of {approvals} approvals of {operation} in the last {DAYS} days came within {} s of the question: `toolcrib approve always` or a rule asks less where it is always right",
        HASTY_MS / 1_000
    )
}
