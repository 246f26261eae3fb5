//! What the daemon does, for those who look after it: figures for Prometheus, spans for a collector, lines for a log.
//!
//! Invariants
//! - Nothing here can hold a call back or change it: counting is an addition, spans go into a bounded queue that drops what does not fit.
//! - No argument, result, text of a conversation or secret is in a figure, a span or a line of the access log.
//! - Labels have few values: tools that there are, routes and not paths, outcomes.

mod calls;
mod here;
mod http;
mod meters;
mod names;
#[cfg(feature = "otlp")]
mod otlp;
mod runs;
mod span;
mod traceparent;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_app::Stores;
use toolcrib_app::agent::events::EventSink;
use toolcrib_app::core::{CallId, RunId};

pub(crate) use here::{carry, is};
pub(crate) use http::around;
pub(crate) use meters::{MEDIA_TYPE, Meters, Now};
#[cfg(feature = "otlp")]
pub use otlp::{Otlp, OtlpError, OtlpSettings};
pub use span::{Attribute, FinishedSpan, SpanContext, SpanKind, SpanSink};

use here::Kept;

/// Figures and spans of one daemon. Clones are the same.
#[derive(Clone, Default)]
pub struct Observe {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    meters: Meters,
    spans: Option<Arc<dyn SpanSink>>,
    /// Where runs that are at work stand in their traces.
    runs: Mutex<Kept<RunId>>,
    /// Where requests for calls stand in theirs.
    calls: Mutex<Kept<CallId>>,
}

impl fmt::Debug for Observe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observe")
    }
}

impl PartialEq for Observe {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Observe {}

impl Observe {
    /// With spans, which go there; [`Observe::default`] has figures alone.
    #[must_use]
    pub fn with_spans(spans: Arc<dyn SpanSink>) -> Self {
        Self { inner: Arc::new(Inner { spans: Some(spans), ..Inner::default() }) }
    }

    /// The same stores, whose calls are counted and traced: give these to the builder of the Toolcrib.
    #[must_use]
    pub fn of_calls(&self, stores: Stores) -> Stores {
        let calls =
            Arc::new(calls::Counted { inner: Arc::clone(&stores.calls), observe: self.clone() });
        Stores { calls, ..stores }
    }

    /// The same sink of a run's events, which are counted and traced on their way.
    #[must_use]
    pub fn of_run(&self, events: EventSink) -> EventSink {
        let run = runs::Watched::new(self.clone());
        Arc::new(move |event| {
            run.see(&event);
            events(event);
        })
    }

    /// These calls belong to the request that is answered here: their spans become part of its trace, in whatever task they run.
    pub(crate) fn asked_here(&self, calls: impl IntoIterator<Item = CallId>) {
        if self.inner.spans.is_none() {
            return;
        }
        if let Some(context) = here::context() {
            let mut kept = self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.into_iter().for_each(|call| kept.put(call, context));
        }
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.inner.meters
    }

    /// Where spans go, if anybody wants them.
    fn spans(&self) -> Option<&dyn SpanSink> {
        self.inner.spans.as_deref()
    }
}
