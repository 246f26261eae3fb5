//! Metrics for Prometheus.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use crate::api::{Api, Operation};
use crate::problem::{Code, Problem};
use crate::role::Role;
use crate::state::DaemonState;
use crate::telemetry::{GaugeValues, MEDIA_TYPE};

/// Time to wait for the store. After it, the response omits one metric and reports that.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn routes(api: &mut Api) {
    let metrics =
        Operation::get("/metrics", Role::Viewer, "Gets metrics for Prometheus.").at_root();
    let metrics = metrics.tag("health").description("A token with the role viewer is enough for a scraper: it sees no arguments and no results.");
    api.add(
        metrics.returns_media(MEDIA_TYPE, "All metrics, in the OpenMetrics text format."),
        metrics_text,
    );
}

async fn metrics_text(State(daemon): State<DaemonState>) -> Result<Response, Problem> {
    let engine = daemon.toolcrib().engine();
    let pending = tokio::time::timeout(STORE_TIMEOUT, daemon.stores().approvals.pending()).await;
    let pending = pending.ok().and_then(Result::ok).map(|pending| pending.len() as u64);
    let now = GaugeValues {
        running: engine.running_calls().len() as u64,
        received: engine.active_call_count(),
        queued: daemon.call_queue().stats().waiting as u64,
        pending,
        events_lost: engine.dropped_events(),
        tools_on: engine.tools_enabled(),
        uptime: daemon.started_at().elapsed(),
    };
    let text = daemon.telemetry().metrics().render(
        now,
        daemon.stores().monitor.figures(),
        &daemon.settings().version,
    );
    let text = text.ok_or_else(|| Problem::new(Code::Internal, "the figures cannot be written"))?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}
