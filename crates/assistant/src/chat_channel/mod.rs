//! The state of chat channels: what was received, and what is still to be done for each person.
//!
//! - `model`: the state of an account, pure.
//! - `accept`: adding received messages to the state, pure.
//! - `chat_channels`: the states of all accounts.
//!
//! Invariants
//! - The read position and the messages before it are written in one step: a message is neither
//!   lost nor handled twice, wherever a process is killed.
//! - Everything that a person or a service can fill has a limit.

mod accept;
mod chat_channels;
mod model;

pub use accept::{Accepted, Inbound, InboundBatch, InboundKind, MAX_TEXT_CHARS, Refusal};
pub use chat_channels::ChatChannels;
pub use model::{
    ButtonPress, ChannelState, ChatPerson, LogLine, OutgoingText, ShownQuestion, Stranger, Turn,
    WaitingMessage,
};

#[cfg(test)]
mod tests;
