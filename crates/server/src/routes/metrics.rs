//! Figures for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use crate::api::{Api, Operation};
use crate::daemon::Daemon;
use crate::observe::{MEDIA_TYPE, Now};
use crate::problem::{Code, Problem};
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let metrics =
        Operation::get("/metrics", Role::Viewer, "Gives figures for Prometheus.").at_root();
    let metrics = metrics.tag("health").about("A token with the role viewer is enough for a scraper: it sees no arguments and no results.");
    api.add(
        metrics.gives(MEDIA_TYPE, "All of them, in the text form of OpenMetrics."),
        metrics_text,
    );
}

async fn metrics_text(State(daemon): State<Daemon>) -> Result<Response, Problem> {
    let engine = daemon.toolcrib().engine();
    let now = Now {
        running: engine.running().len() as u64,
        open: engine.waiting_now(),
        queued: daemon.turnstile().crowd().waiting as u64,
        pending: daemon.stores().approvals.pending().await?.len() as u64,
        lost: engine.observers_lost(),
        tools_on: engine.tools_enabled(),
        up: daemon.begun().elapsed(),
    };
    let text = daemon.observe().meters().text(now, &daemon.settings().version);
    let text = text.ok_or_else(|| Problem::new(Code::Internal, "the figures cannot be written"))?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}
