//! Tools for chat services, one file per tool, and their shared parts.
//!
//! - `channel_tools`: the accounts, stores and services of the tools.
//! - `source`: all of them as a source for the registry.

mod channel_tools;
mod draft_message;
mod source;

pub use channel_tools::{ACCOUNT_KEY, ChannelTools, SOURCE};
pub use source::specs;
