//! Model providers: wire formats, requests, parsing of answers, and the HTTP client for models.
//!
//! One folder per wire format, behind the enum [`Format`] and plain functions: [`declare`],
//! [`parse`], [`result_messages`()](result_messages()), and around them [`detect`()](detect()),
//! [`lint`] and [`import`]. [`conversation`] is the provider-independent conversation, [`request`]
//! renders it for one provider, [`stream_preview`] shows an answer as it arrives. [`model::Model`]
//! is the interface of models: over HTTP ([`http_provider`]) or from a file ([`scripted`]).
//!
//! Invariants
//! - A call that the provider did not finish can never run: its arguments are
//!   [`toolcrib_core::RawArgs::Broken`], regardless of the position of the cut.
//! - Arguments remain the text that the provider sent, so that a single decoder reads them and no
//!   digit or duplicate key is lost.
//! - Every call gets exactly one result, in the order of the calls.
//! - The assistant's turn is stored item by item as received, for replay to the same provider.
//! - A feature that a provider cannot express is described in the tool description and reported as
//!   a [`Warning`]; no feature is dropped silently.
//! - The same parser reads a live answer and its recording; the preview of a stream decides
//!   nothing.
//! - A key is sent only to the server that it was configured for, and never appears in errors, logs
//!   or `Debug` output.
//!
//! Everything except [`http_provider`] and the reading of script files is pure. Intentionally out
//! of scope: the engine, tools, the agent loop.

mod anthropic;
mod call_collector;
pub mod conversation;
mod detect_format;
mod gemini;
pub mod http_provider;
mod import_declarations;
mod imported_tool;
mod json_object;
pub mod model;
mod model_turn;
mod openai_chat;
mod openai_responses;
mod parse_error;
mod parse_response;
pub mod provider_tools;
pub mod quirks;
mod raw_json;
pub mod request;
mod result_content;
mod result_messages;
pub mod schema;
pub mod scripted;
pub mod sse;
pub mod stream_preview;
mod text_tools;
mod tool_declarations;
mod wire_format;
mod wire_names;

pub use detect_format::detect;
pub use import_declarations::import;
pub use imported_tool::{ImportError, Imported};
pub use model_turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn, Usage};
pub use parse_error::ParseError;
pub use parse_response::parse;
pub use result_messages::{CallResult, ResultEntry, result_messages};
pub use tool_declarations::{Declarations, Options, Warning, declare, lint};
pub use wire_format::{Format, UnknownFormat};
pub use wire_names::NameMap;
