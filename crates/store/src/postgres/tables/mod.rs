//! Postgres implementations of the store traits of `core`, one file per table.

mod approvals;
pub(super) mod artifacts;
mod assistant_rows;
pub(super) mod audit;
mod batches;
mod calls;
mod checkpoints;
mod claims;
mod columns;
mod conversations;
mod deleted_conversations;
mod document_chunks;
mod empty_job;
mod grants;
mod history;
mod key_values;
mod members;
mod memories;
mod notifications;
mod recovery;
mod runs;
mod settle;
mod statement;
mod switches;
mod tasks;
mod tokens;
mod usage;

use columns::{at_most, column, number, read, read_or_none, text, write};
pub(super) use empty_job::{Flush, NoOp};
