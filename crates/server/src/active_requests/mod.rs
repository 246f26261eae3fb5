//! The calls that clients request: batches, their execution beyond the life of the connection, and
//! the table of those that have not ended.

mod active_call_table;
mod batch;
mod call_runner;
mod idempotency_header;

pub(crate) use active_call_table::ActiveCallTable;
pub(crate) use batch::{channel_for, view_request_for};
pub(crate) use call_runner::{CallRunner, CallsReply, MAX_BATCH_CALLS};
pub(crate) use idempotency_header::{
    IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER, idempotency_key,
};
