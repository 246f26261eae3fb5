//! Spans as plain data, independent of the library that exports them.
//!
//! A span is created when its call, run or request has ended, from its stored record. Layers of
//! `tracing` create spans from the scope of running code instead, but a call that waits for an
//! approval and continues in another process has no such scope.

use std::time::SystemTime;

/// A position in a trace (W3C Trace Context, level 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanContext {
    /// The trace: 128 bits, not 0.
    pub trace: u128,
    /// The span: 64 bits, not 0.
    pub span: u64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl SpanContext {
    /// Starts a trace that is sampled with this probability.
    #[must_use]
    pub fn root(ratio: f64) -> Self {
        let trace = fastrand::u128(1..);
        Self { trace, span: fastrand::u64(1..), sampled: fastrand::f64() < ratio }
    }

    /// Creates the context of a child span.
    #[must_use]
    pub fn child(self) -> Self {
        Self { span: fastrand::u64(1..), ..self }
    }
}

/// The role of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work within this process.
    Internal,
    /// An incoming request.
    Server,
    /// An outgoing request.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    /// Its name, such as `execute_tool read_file`.
    pub name: String,
    /// Its role.
    pub kind: SpanKind,
    /// Its position in the trace.
    pub context: SpanContext,
    /// Its parent span, and whether the parent belongs to another process.
    pub parent: Option<(u64, bool)>,
    /// Start time.
    pub start: SystemTime,
    /// End time.
    pub end: SystemTime,
    /// Attributes, with names of `semantic_conventions`.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// The error type; `None` if it succeeded.
    pub error: Option<String>,
}

/// Exports spans. It is called synchronously and must return at once: a span that cannot be queued
/// is dropped.
pub trait SpanSink: Send + Sync {
    /// Exports a span.
    fn export(&self, span: FinishedSpan);

    /// Returns the probability, from 0 to 1, with which traces that start here are sampled.
    fn sample_ratio(&self) -> f64 {
        1.0
    }
}
