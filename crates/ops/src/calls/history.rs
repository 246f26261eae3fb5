//! The history of calls, newest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolcrib_app::Toolcrib;
use toolcrib_core::{CallFilter, CallId, CallRow};

use super::undone::find_undone;
use crate::context::StoreContext;
use crate::error::OpError;

/// Returns the name under which calls of a tool are stored: the canonical one if the tool exists,
/// else the given one.
#[must_use]
pub fn canonical_tool(toolcrib: &Toolcrib, name: String) -> String {
    toolcrib.spec(&name).map_or(name, |spec| spec.name.to_string())
}

/// Calls, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryReply {
    /// The calls.
    pub calls: Vec<CallRow>,
    /// Times at which the changes of calls were undone, in milliseconds since 1970; without changes
    /// that were redone.
    pub undone: BTreeMap<CallId, i64>,
    /// Whether there are older calls.
    pub more: bool,
}

/// Lists the calls of the owner that match a filter, newest first; the owner in it is not used.
///
/// # Errors
/// [`OpError::Store`].
pub async fn history(ctx: &StoreContext<'_>, filter: CallFilter) -> Result<HistoryReply, OpError> {
    let limit = filter.limit;
    // Read one row more than the page, to detect a next page.
    let filter = CallFilter { owner: ctx.owner.to_owned(), limit: limit + 1, ..filter };
    let mut calls = ctx.stores.history.calls(filter).await?;
    let more = calls.len() > limit;
    calls.truncate(limit);
    let mut undone = BTreeMap::new();
    for row in &calls {
        undone.extend(find_undone(ctx, row).await?.map(|at| (row.facts.call, at)));
    }
    if !ctx.shows_payloads {
        calls.iter_mut().for_each(hide_payloads);
    }
    Ok(HistoryReply { calls, undone, more })
}

/// Removes arguments and every text that may repeat them. The hashes of arguments and result are
/// removed, too, because short values could be guessed from them.
pub(super) fn hide_payloads(row: &mut CallRow) {
    let facts = &mut row.facts;
    facts.args = None;
    facts.args_hash = None;
    facts.policy = None;
    if !facts.context.topic.is_empty() {
        let context = std::sync::Arc::make_mut(&mut facts.context);
        context.topic = String::new();
    }
    if let Some(end) = &mut row.end {
        end.message = None;
        end.output_hash = None;
    }
}
