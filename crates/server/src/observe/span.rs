//! Spans as this daemon makes them: plain data, with nothing of a collector's library in it.

use std::time::SystemTime;

/// Where something stands in a trace (W3C Trace Context, level 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanContext {
    /// The trace: 128 bits, not 0.
    pub trace: u128,
    /// The span: 64 bits, not 0.
    pub span: u64,
    /// Whether the trace is kept.
    pub sampled: bool,
}

impl SpanContext {
    /// Begins a trace; of a hundred, `ratio` times a hundred are kept.
    #[must_use]
    pub fn root(ratio: f64) -> Self {
        let trace = fastrand::u128(1..);
        Self { trace, span: fastrand::u64(1..), sampled: fastrand::f64() < ratio }
    }

    /// Something within it.
    #[must_use]
    pub fn child(self) -> Self {
        Self { span: fastrand::u64(1..), ..self }
    }
}

/// Which end of a connection a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Neither: it happens in this process.
    Internal,
    /// A request that came in.
    Server,
    /// A request that went out.
    Client,
}

/// What an attribute says.
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

/// A span that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    /// Its name, such as `execute_tool read_file`.
    pub name: String,
    /// What it is about.
    pub kind: SpanKind,
    /// Where it stands.
    pub context: SpanContext,
    /// What it is part of: the span, and whether that is another process's.
    pub parent: Option<(u64, bool)>,
    /// When it began.
    pub start: SystemTime,
    /// When it ended.
    pub end: SystemTime,
    /// What is said of it; the names are those of `names`.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// Why it failed, as a word; `None` = it did not.
    pub error: Option<String>,
}

/// Where spans go. It is called in place and returns at once: what cannot be taken is dropped.
pub trait SpanSink: Send + Sync {
    /// A span is over.
    fn ended(&self, span: FinishedSpan);

    /// Which part of the traces that begin here is kept, from 0 to 1.
    fn ratio(&self) -> f64 {
        1.0
    }
}
