//! The history of calls, newest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolcrib_app::Toolcrib;
use toolcrib_core::{CallFilter, CallId, CallRow, CallStatus, RunId};

use super::undone::find_undone;
use crate::context::StoreContext;
use crate::error::OpError;

/// Filter of calls. A call must match every field.
#[derive(Debug, Clone, Default)]
pub struct HistoryRequest {
    /// Canonical name of the tool.
    pub tool: Option<String>,
    /// Operation that policy names.
    pub operation: Option<String>,
    /// Agent that called.
    pub agent: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// Run.
    pub run: Option<RunId>,
    /// The call that made them, such as that of a script.
    pub parent: Option<CallId>,
    /// Open, or an outcome.
    pub status: Option<CallStatus>,
    /// Only calls received at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only calls received before this time, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Only calls before this one, for the next page.
    pub before: Option<CallId>,
    /// Maximum number of calls.
    pub limit: usize,
}

impl HistoryRequest {
    /// Returns the name under which calls of a tool are stored: the canonical one if the tool
    /// exists, else the given one.
    #[must_use]
    pub fn canonical_tool(toolcrib: &Toolcrib, name: String) -> String {
        toolcrib.spec(&name).map_or(name, |spec| spec.name.to_string())
    }
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

/// Lists calls, newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn history(
    ctx: &StoreContext<'_>,
    request: HistoryRequest,
) -> Result<HistoryReply, OpError> {
    let limit = request.limit;
    let filter = CallFilter {
        owner: ctx.owner.to_owned(),
        tool: request.tool,
        operation: request.operation,
        agent: request.agent,
        conversation: request.conversation,
        run: request.run,
        parent: request.parent,
        status: request.status,
        since: request.since,
        until: request.until,
        before: request.before,
        // Read one row more than the page, to detect a next page.
        limit: limit + 1,
    };
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
