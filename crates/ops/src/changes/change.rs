//! A change in the replies of these operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_builtins::fs::JournalEntry;
use toolcrib_core::display_text::escape_to_line;

use crate::context::OpContext;

/// The direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Undo changes of tools.
    Undo,
    /// Redo undone changes.
    Redo,
}

/// A change that a tool made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its number; a later change has a larger one.
    pub id: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The change in one line, such as `edit notes.md`.
    pub summary: String,
    /// Why it cannot be undone, or redone if it is undone; absent = it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_undoable: Option<String>,
    /// The call that made it; absent = unknown, or a call of another owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The call's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The call's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

impl Change {
    pub(super) fn new(ctx: &OpContext<'_>, entry: JournalEntry) -> Self {
        let origin = entry.made_by.filter(|origin| origin.owner == ctx.store.owner);
        Self {
            id: entry.id,
            at: entry.at_ms,
            summary: one_line(ctx, entry.summary),
            not_undoable: entry.not_undoable.map(|why| one_line(ctx, why)),
            call: origin.as_ref().map(|origin| origin.call.to_string()),
            run: origin.as_ref().and_then(|origin| origin.run).map(|run| run.to_string()),
            conversation: origin.map(|origin| origin.conversation).filter(|id| !id.is_empty()),
        }
    }
}

/// Renders a file name on one line: it may contain a secret or a control character.
pub(super) fn one_line(ctx: &OpContext<'_>, text: String) -> String {
    escape_to_line(&ctx.toolcrib.engine().sealing().secrets.mask(text))
}
