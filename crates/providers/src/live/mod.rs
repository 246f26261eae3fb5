//! The live half: models behind HTTP.
//!
//! An [`Endpoint`] is a configured provider; it checks its settings once and is shared by its models, with one circuit breaker, one set of
//! rate limits and one pool of connections. An [`HttpModel`] writes a request once, sends it until there is an answer or a failure that stays,
//! and reads the answer with the parser of recordings.
//!
//! Invariants
//! - Only the request to the model is ever repeated, with the same bytes; no tool is run here.
//! - An answer that did not come whole is a failure, never a turn: nothing of it can run.
//! - A key travels in one header to the configured host and nowhere else: no redirect is followed, and every text that leaves this module has
//!   it masked.
//! - Waiting ends when somebody stops the request, and with the future itself; no task stays behind.

mod address;
mod breaker;
mod classify;
mod clock;
mod embeddings;
mod endpoint;
mod exchange;
mod explain;
mod failure;
mod http_model;
mod key;
mod kind;
mod models;
mod retry;
mod said;
mod settings;
mod window;

#[cfg(test)]
mod tests;

pub use clock::{Clock, TokioClock};
pub use endpoint::{Endpoint, ModelOptions};
pub use http_model::HttpModel;
pub use key::{ApiKey, KeyError};
pub use kind::{ProviderKind, UnknownProvider};
pub use settings::{IDLE, LiveError, ProviderSettings, RETRIES, TIMEOUT, ToolMemory};
