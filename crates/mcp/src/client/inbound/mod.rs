//! Checks a server's messages before rmcp sees them. rmcp starts one task for each message of a
//! server and has no limit, so a flood of messages would fill the memory. The [`GatedTransport`]
//! forwards as many messages as a well-behaved server sends, and ends a server that exceeds this.

mod gate;
mod gated_transport;
pub(super) mod raw_lists;
pub(super) mod stream_answers;
mod token_bucket;

pub(super) use gate::InboundGate;
pub(super) use gated_transport::GatedTransport;
pub(super) use stream_answers::UNREADABLE_ANSWER;
