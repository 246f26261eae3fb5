//! What a server sends, before rmcp sees it. rmcp starts one task for each message of a server and
//! has no limit, so a flood of messages would fill the memory; the [`GatedTransport`] lets through
//! as much as a well-behaved server sends, and ends a server that goes on.

mod gate;
mod gated_transport;
pub(super) mod raw_lists;
pub(super) mod stream_answers;
mod token_bucket;

pub(super) use gate::InboundGate;
pub(super) use gated_transport::GatedTransport;
pub(super) use stream_answers::UNREADABLE_ANSWER;
