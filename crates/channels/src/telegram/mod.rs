//! Telegram, over its Bot API (<https://core.telegram.org/bots/api>).
//!
//! - `bot`: the requests.
//! - `update`: received updates, read leniently.

mod bot;
mod update;

pub(crate) use bot::Telegram;
