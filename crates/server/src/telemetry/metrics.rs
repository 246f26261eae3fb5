//! Metrics in the text format of OpenMetrics 1.0. Names and labels are part of the interface:
//! docs/observability.md lists them.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use toolcrib_agent::events::Event;
use toolcrib_core::CallRecord;
use toolcrib_core::store::DatabaseFigures;

use super::database_metrics;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Histogram buckets in seconds, from a cached answer to a tool that reaches its timeout.
const SECONDS: [f64; 15] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    outcome: &'static str,
    error: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecoveryLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabels {
    provider: String,
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    provider: String,
    model: String,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    method: &'static str,
    route: String,
    status: u16,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics that are updated by events.
pub(crate) struct Metrics {
    calls: Family<CallLabels, Counter>,
    recovered: Family<RecoveryLabels, Counter>,
    call_seconds: Histograms<ToolLabels>,
    runs: Family<RunLabels, Counter>,
    runs_active: Gauge,
    models: Family<ModelLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    requests: Family<ResponseLabels, Counter>,
    request_seconds: Histograms<RouteLabels>,
    requests_active: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            recovered: Family::default(),
            call_seconds: Family::new_with_constructor(histogram),
            runs: Family::default(),
            runs_active: Gauge::default(),
            models: Family::default(),
            tokens: Family::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(histogram),
            requests_active: Gauge::default(),
        }
    }
}

/// Values that are read for every request of the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GaugeValues {
    /// Number of calls whose tool runs.
    pub(crate) running: u64,
    /// Number of calls that were received and have not ended.
    pub(crate) received: u64,
    /// Number of calls that wait in the queue.
    pub(crate) queued: u64,
    /// Number of questions without a decision; `None` if the store does not answer.
    pub(crate) pending: Option<u64>,
    /// Number of events that slow observers missed.
    pub(crate) events_lost: u64,
    /// Whether tools are enabled.
    pub(crate) tools_on: bool,
    /// Time since the start of the daemon.
    pub(crate) uptime: Duration,
}

impl Metrics {
    /// Counts a call that ended.
    pub(super) fn record_call(&self, record: &CallRecord) {
        // An unknown name is text of the caller, so it must not become a label.
        let tool = record.facts.tool.as_ref().map_or("none", |tool| tool.as_str());
        let outcome = record.end.outcome.as_str();
        let error = record.end.error_type.map_or("none", |error| error.as_str());
        let labels = CallLabels { tool: tool.to_owned(), outcome, error };
        self.calls.get_or_create(&labels).inc();
        if record.end.attempts > 0 {
            let seconds = Duration::from_nanos(record.end.run_nanos).as_secs_f64();
            self.call_seconds.get_or_create(&ToolLabels { tool: labels.tool }).observe(seconds);
        }
    }

    /// Counts calls of processes that died.
    pub(super) fn record_recovery(&self, unknown: usize, interrupted: usize) {
        for (outcome, calls) in [("unknown", unknown), ("cancelled", interrupted)] {
            if calls > 0 {
                self.recovered.get_or_create(&RecoveryLabels { outcome }).inc_by(calls as u64);
            }
        }
    }

    /// Records an event of a run.
    pub(super) fn record_run_event(&self, event: &Event) {
        match event {
            Event::RunStart { .. } => {
                self.runs_active.inc();
            }
            Event::RunPaused { status, .. } | Event::RunEnd { status, .. } => {
                self.record_run_end(status);
            }
            Event::Answer { provider, model, usage, .. } => {
                let (provider, model) = (provider.clone(), model.clone());
                for (kind, tokens) in [
                    ("input", usage.as_ref().and_then(|usage| usage.input)),
                    ("output", usage.as_ref().and_then(|usage| usage.output)),
                    ("cache_read", usage.as_ref().and_then(|usage| usage.cache_read)),
                ] {
                    let Some(tokens) = tokens else { continue };
                    let (provider, model) = (provider.clone(), model.clone());
                    self.tokens
                        .get_or_create(&TokenLabels { provider, model, kind })
                        .inc_by(tokens);
                }
                self.models.get_or_create(&ModelLabels { provider, model }).inc();
            }
            _ => {}
        }
    }

    /// Counts a run that has ended or waits for a person.
    pub(super) fn record_run_end(&self, status: &'static str) {
        self.runs_active.dec();
        self.runs.get_or_create(&RunLabels { status }).inc();
    }

    /// Counts a request that was received.
    pub(super) fn record_request_start(&self) {
        self.requests_active.inc();
    }

    /// Counts a request that was answered or abandoned.
    pub(super) fn record_request_end(&self) {
        self.requests_active.dec();
    }

    /// Records the status and duration of a request. `route` is the template, not the path.
    pub(super) fn request_ended(
        &self,
        method: &'static str,
        route: &str,
        status: u16,
        took: Duration,
    ) {
        let labels = ResponseLabels { method, route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        let ResponseLabels { method, route, .. } = labels;
        self.request_seconds
            .get_or_create(&RouteLabels { method, route })
            .observe(took.as_secs_f64());
    }

    /// Renders all metrics as text; `None` if they cannot be encoded.
    pub(crate) fn render(
        &self,
        now: GaugeValues,
        database: Option<DatabaseFigures>,
        version: &str,
    ) -> Option<String> {
        let mut text = String::new();
        let mut all = self.registry(now, version);
        if let Some(figures) = database {
            database_metrics::register(&mut all, figures);
        }
        text::encode(&mut text, &all).ok()?;
        Some(text)
    }

    /// Builds a registry of the shared metrics and the current values.
    fn registry(&self, now: GaugeValues, version: &str) -> Registry {
        let mut all = Registry::with_prefix("toolcrib");
        all.register(
            "build",
            "Version of the daemon",
            Info::new(vec![("version".to_owned(), version.to_owned())]),
        );
        all.register("calls", "Calls that ended, by tool, outcome and error", self.calls.clone());
        let seconds = "Time that tools ran, waiting not counted";
        all.register_with_unit("call", seconds, Unit::Seconds, self.call_seconds.clone());
        let help = "Calls of processes that died, ended by this one";
        all.register("calls_recovered", help, self.recovered.clone());
        all.register("runs", "Runs that ended or wait for a person, by status", self.runs.clone());
        all.register("runs_active", "Active runs", self.runs_active.clone());
        all.register("model_requests", "Answers of models", self.models.clone());
        all.register("model_tokens", "Tokens that models reported, by kind", self.tokens.clone());
        all.register("http_requests", "Requests that were answered", self.requests.clone());
        let seconds = "Time to the head of an answer";
        all.register_with_unit(
            "http_request",
            seconds,
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        all.register(
            "http_requests_active",
            "Requests that wait for an answer",
            self.requests_active.clone(),
        );
        for (name, help, value) in [
            ("calls_running", "Calls whose tool is running", now.running),
            ("calls_open", "Calls that were received and have not ended", now.received),
            ("calls_queued", "Calls that wait for their turn", now.queued),
            (
                "tools_enabled",
                "1 = tools are on, 0 = the kill switch is pulled",
                u64::from(now.tools_on),
            ),
            ("uptime_seconds", "Seconds since the start", now.uptime.as_secs()),
        ] {
            all.register(name, help, gauge(value));
        }
        if let Some(pending) = now.pending {
            let help = "Questions that are not decided";
            all.register("approvals_pending", help, gauge(pending));
        }
        let help = "1 = the store answers, 0 = it does not";
        all.register("store_answers", help, gauge(u64::from(now.pending.is_some())));
        all.register(
            "observer_events_lost",
            "Events that observers were too slow for",
            counter(now.events_lost),
        );
        all
    }
}

fn gauge(value: u64) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

fn counter(value: u64) -> Counter<u64, AtomicU64> {
    let counter = Counter::default();
    counter.inc_by(value);
    counter
}
