//! Liveness and readiness of the daemon.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Api, Json, Operation};
use crate::problem::{Code, Problem};
use crate::role::Role;
use crate::state::DaemonState;

/// The state of the daemon.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always `ok`: a response shows that the daemon is alive.
    status: &'static str,
    /// Its name.
    name: &'static str,
    /// Its version.
    version: String,
    /// Seconds since it started.
    up_seconds: u64,
}

pub(super) fn routes(api: &mut Api) {
    let health = Operation::get("/healthz", Role::Viewer, "Tells that the daemon is alive.");
    api.add(
        health.public().at_root().tag("health").returns_ok::<Health>("The daemon is alive."),
        healthz,
    );
    let ready = Operation::get("/readyz", Role::Viewer, "Tells whether the daemon accepts calls.");
    api.add(
        ready.public().at_root().tag("health").returns_ok::<Health>("The daemon accepts calls."),
        readyz,
    );
}

fn health(daemon: &DaemonState) -> Health {
    let version = daemon.settings().version.clone();
    Health {
        status: "ok",
        name: "toolcrib",
        version,
        up_seconds: daemon.started_at().elapsed().as_secs(),
    }
}

async fn healthz(State(daemon): State<DaemonState>) -> Json<Health> {
    Json(health(&daemon))
}

/// Reports readiness: the store answers, and the daemon was not told to stop.
async fn readyz(State(daemon): State<DaemonState>) -> Result<Json<Health>, Problem> {
    if daemon.shutdown_token().is_cancelled() {
        return Err(Problem::new(Code::Unavailable, "the daemon is stopping").retry_after(5));
    }
    daemon.stores().switches.switches("").await?;
    Ok(Json(health(&daemon)))
}
