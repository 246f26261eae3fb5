//! SQLite implementations of the store traits of `core`, one file per table.

mod approvals;
pub(crate) mod artifacts;
mod assistant_rows;
pub(crate) mod audit;
mod batches;
mod call_row;
mod calls;
mod checkpoints;
mod claims;
mod columns;
mod conversations;
mod deleted_conversations;
mod document_chunks;
mod grants;
mod history;
mod key_values;
mod memories;
mod notifications;
mod pending_intents;
mod runs;
mod switches;
mod tasks;
mod tokens;
mod usage;

use columns::{at_most, text};
pub(crate) use pending_intents::PendingIntents;
