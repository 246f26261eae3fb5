//! Chat services on which the assistant answers: Telegram and Matrix.
//!
//! - [`account`]: accounts in a file of the configuration; their tokens are in the vault.
//! - [`Channel`]: what a service can do. `telegram` and `matrix` implement it.
//! - `http`: JSON requests under the address policy, whose answers are bounded.
//! - `split_text`: texts in messages below the limit of a service.
//! - `card_text`: cards as plain text.
//! - `carrier`: sends drafts of the kind chat.
//! - `tool`: one file per tool.
//!
//! # Invariants
//! - No token is in an error, a log line or a `Debug` text, although Telegram has it in addresses.
//! - An answer of a service is bounded and checked before it is used; an event that cannot be read
//!   is left out, and the read position moves on.
//! - Texts are sent as plain text: nothing in them becomes markup.
//! - The id of a sender is the one that the service vouches for, never a part of a message.
//! - A tool makes drafts. Only the carrier sends to others, and only what the drafts let leave.
//!
//! Absent on purpose: group conversations, webhooks (a daemon listens on loopback), media, and
//! end-to-end encryption.

pub mod account;
mod card_text;
mod carrier;
mod channel;
mod error;
mod http;
mod matrix;
mod split_text;
mod telegram;
mod tool;

pub use card_text::card_text;
pub use carrier::ChatCarrier;
pub use channel::{Button, Channel, ChannelKind, Question, Sent};
pub use error::ChannelError;
pub use split_text::split_text;
pub use tool::{ACCOUNT_KEY, ChannelTools, SOURCE, specs};
