//! HTTP client for models: endpoints, requests with retries, and error messages.
//!
//! An [`Endpoint`] is a configured provider. It checks its settings once and is shared by its
//! models, with one circuit breaker, one set of rate limits and one connection pool. An
//! [`HttpModel`] renders a request once, sends it until it gets an answer or a permanent failure,
//! and reads the answer with the same parser as recordings.
//!
//! Invariants
//! - Only the request to the model is retried, with the same bytes; no tool runs here.
//! - An incomplete answer is a failure, never a turn: none of its calls can run.
//! - A key is sent in one header to the configured host and nowhere else: redirects are not
//!   followed, and the key is masked in every text that leaves this module.
//! - Waiting ends when the request is cancelled or its future is dropped; no task remains.

mod api_key;
mod attempt;
mod attempt_failure;
mod circuit_breaker;
mod classify_error;
mod clock;
mod embeddings;
mod endpoint;
mod error_body;
mod error_message;
mod http_model;
mod list_models;
mod provider_kind;
mod rate_limit;
mod retry;
mod settings;
mod urls;

#[cfg(test)]
mod tests;

pub use api_key::{ApiKey, KeyError};
pub use clock::{Clock, TokioClock};
pub use endpoint::{Endpoint, ModelOptions};
pub use http_model::HttpModel;
pub use provider_kind::{ProviderKind, UnknownProvider};
pub use retry::RETRIES;
pub use settings::{IDLE, NoToolsMemory, ProviderSettings, SettingsError, TIMEOUT};
