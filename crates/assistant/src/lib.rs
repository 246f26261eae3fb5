//! The assistant: memories, and tasks that run later.
//!
//! [`memory`] keeps what is worth knowing beyond one conversation and puts it into the system
//! prompt; [`time`] computes when a task is due; [`task`] keeps tasks and decides what a scheduler
//! does with them; [`notify`] reaches the person; [`list`] keeps shopping and to-do lists; [`goal`]
//! keeps the goals that background runs pursue; [`custom_instructions`] keeps the person's part of
//! the system prompt; [`document`] finds passages in files that a person added; [`draft`] keeps
//! messages in a person's name, and sends each once; [`mail_inbox`] keeps what arrived by mail;
//! [`chat_channel`] keeps what is to be done for people who write on chat services; [`card`] checks
//! the cards that surfaces show. `tool` has one file per tool. A daemon runs due tasks; this crate
//! only computes which ones and when.
//!
//! Invariants
//! - An untrusted text keeps its label `untrusted`: such a memory is never part of a system prompt,
//!   and a run that recalls it is untrusted.
//! - No known secret is stored as a memory or in a task.
//! - Every change of a memory can be undone for a while.
//! - [`time`] is pure: it reads no clock.
//!
//! Out of scope: the engine, stores, models, and the loop that waits for due tasks.

pub mod calendar;
pub mod card;
pub mod chat_channel;
mod configured_server_client;
pub mod custom_instructions;
pub mod document;
pub mod draft;
pub mod goal;
pub mod heartbeat;
pub mod list;
pub mod mail_inbox;
pub mod memory;
pub mod notify;
mod outside_text;
mod rows;
mod secret_shapes;
pub mod signature;
pub mod task;
pub mod time;
mod tool;

pub use rows::{RowError, Step, Stored, TypedRows, Writer};
pub use tool::{AssistantTools, SOURCE, author_of, specs};

use std::sync::Arc;

use toolcrib_core::{BoxFuture, CallCtx, Labels, RunId, ToolError};

/// Looks up the taint labels of a run that is open in this process.
pub type LabelsOfRuns = Arc<dyn Fn(RunId) -> Option<Labels> + Send + Sync>;

/// Returns whether a text contains a known secret.
pub type SecretCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Reads files of the workspace for a call.
pub trait WorkspaceFiles: Send + Sync {
    /// Reads the content of a file, under the rules of the call.
    ///
    /// # Errors
    /// Outside the roots, denied by a rule, missing, too large.
    fn read<'a>(
        &'a self,
        ctx: &'a CallCtx,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>>;
}

/// Channel of external agents, whose sources are unknown here.
const EXTERNAL_AGENT: &str = "external-agent";

/// Returns the source that makes a text of this call untrusted; `None` if its run has read no
/// untrusted text. A run that is not open, and an external agent, may have read anything.
#[must_use]
pub fn untrusted_source(labels: &LabelsOfRuns, ctx: &CallCtx) -> Option<String> {
    match ctx.run.map(|run| labels(run)) {
        Some(Some(labels)) => labels.untrusted.as_ref().map(ToString::to_string),
        Some(None) => Some("a run whose reading is not known".to_owned()),
        None if ctx.context.channel == EXTERNAL_AGENT => {
            Some("an agent outside, whose reading is not known".to_owned())
        }
        None => None,
    }
}
