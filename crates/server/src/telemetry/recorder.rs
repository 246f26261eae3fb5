//! The handle through which the daemon records metrics and spans.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::{CallId, RunId};

use super::metrics::Metrics;
use super::request_context::{self, SpanContexts};
use super::span::SpanSink;

/// Metrics and spans of one daemon. Clones share them.
#[derive(Clone, Default)]
pub struct Telemetry {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    metrics: Metrics,
    spans: Option<Arc<dyn SpanSink>>,
    /// Span contexts of active runs.
    runs: Mutex<SpanContexts<RunId>>,
    /// Span contexts of the requests of calls.
    calls: Mutex<SpanContexts<CallId>>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}

impl PartialEq for Telemetry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Telemetry {}

impl Telemetry {
    /// Creates telemetry that exports spans to this sink; [`Telemetry::default`] has only metrics.
    #[must_use]
    pub fn with_spans(spans: Arc<dyn SpanSink>) -> Self {
        Self { inner: Arc::new(Inner { spans: Some(spans), ..Inner::default() }) }
    }

    /// Links calls to the current request: their spans become part of its trace, in every task that
    /// runs them.
    pub(crate) fn link_calls(&self, calls: impl IntoIterator<Item = CallId>) {
        if self.inner.spans.is_none() {
            return;
        }
        if let Some(context) = request_context::span_context() {
            let mut contexts = self.call_contexts();
            calls.into_iter().for_each(|call| contexts.put(call, context));
        }
    }

    /// Returns the metrics.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Returns the span contexts of active runs.
    pub(super) fn run_contexts(&self) -> MutexGuard<'_, SpanContexts<RunId>> {
        self.inner.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the span contexts of the requests of calls.
    pub(super) fn call_contexts(&self) -> MutexGuard<'_, SpanContexts<CallId>> {
        self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sink of spans, if there is one.
    pub(super) fn spans(&self) -> Option<&dyn SpanSink> {
        self.inner.spans.as_deref()
    }
}
