//! Telemetry for operators: metrics for Prometheus, spans for a collector, the access log.
//!
//! Invariants
//! - Telemetry cannot delay or change a call: metrics are atomic additions, and spans go into a
//!   bounded queue that drops spans when it is full.
//! - Metrics, spans and the access log contain no arguments, results, texts of conversations or
//!   secrets.
//! - Labels have few values: existing tools, routes instead of paths, outcomes.

mod call_store;
mod database_metrics;
mod http_requests;
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;
mod recorder;
mod request_context;
mod run_events;
mod semantic_conventions;
mod span;
mod traceparent;

pub(crate) use http_requests::wrap;
pub(crate) use metrics::{GaugeValues, MEDIA_TYPE};
#[cfg(feature = "otlp")]
pub use otlp::{Otlp, OtlpError, OtlpSettings};
pub use recorder::Telemetry;
pub(crate) use request_context::{set_principal, with_request_context};
pub use span::{Attribute, FinishedSpan, SpanContext, SpanKind, SpanSink};
