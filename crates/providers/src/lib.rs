//! The pure half of talking to models: tool definitions to declarations, responses to calls, outcomes to messages.
//!
//! One folder per wire format, behind the small enum [`Format`] and plain functions: [`declare`], [`parse`], [`reply`], and around them
//! [`detect`], [`lint`] and [`import`].
//!
//! Invariants
//! - A call that the provider did not finish is never runnable: its arguments are [`toolcrib_core::RawArgs::Broken`], whatever the cut.
//! - Arguments travel as the text that the provider sent, so that one decoder alone reads them: no digit and no double key is lost here.
//! - Every call gets exactly one result, in the order of the calls.
//! - The assistant's turn is kept item by item as it came, for replay.
//! - What a provider cannot express is said in the description and in a [`Warning`]; nothing is dropped silently.
//!
//! Absent on purpose: HTTP, files, clocks, the engine. A recorded stream and a live one go through the same [`sse::Parser`].

mod anthropic;
mod calls;
pub mod chat;
mod declare;
mod detect;
mod error;
mod format;
mod gemini;
mod import;
pub mod live;
pub mod model;
mod names;
mod openai_chat;
mod openai_responses;
mod parse;
pub mod provider_tools;
pub mod quirks;
mod raw;
mod reply;
pub mod request;
pub mod schema;
pub mod scripted;
pub mod sse;
mod text;
pub mod watch;
mod turn;
mod wire;

pub use declare::{Declarations, Options, Warning, declare, lint};
pub use detect::detect;
pub use error::ParseError;
pub use format::{Format, UnknownFormat};
pub use import::{ImportError, Imported, import};
pub use names::NameMap;
pub use parse::parse;
pub use reply::{Answered, Reply, reply};
pub use turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn, Usage};
