//! Talking to models: tool definitions to declarations, conversations to requests, answers to calls, outcomes to messages; and the thin
//! client that carries them.
//!
//! One folder per wire format, behind the small enum [`Format`] and plain functions: [`declare`], [`parse`], [`reply`], and around them
//! [`detect`], [`lint`] and [`import`]. [`chat`] is a conversation in one form for all providers, [`request`] writes it down for one of them,
//! [`watch`] shows an answer while it comes. [`model::Model`] is what can be asked: over HTTP ([`live`]) or from a file ([`scripted`]).
//!
//! Invariants
//! - A call that the provider did not finish is never runnable: its arguments are [`toolcrib_core::RawArgs::Broken`], whatever the cut.
//! - Arguments travel as the text that the provider sent, so that one decoder alone reads them: no digit and no double key is lost here.
//! - Every call gets exactly one result, in the order of the calls.
//! - The assistant's turn is kept item by item as it came, for replay to the provider that wrote it.
//! - What a provider cannot express is said in the description and in a [`Warning`]; nothing is dropped silently.
//! - A live answer and its recording are read by the same parser; what is shown on the way decides nothing.
//! - A key goes to the one server that it was configured for, and is in no error, log or `Debug` text.
//!
//! Everything but [`live`] and the reading of a script is pure. Absent on purpose: the engine, tools, the loop.

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
mod turn;
pub mod watch;
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
