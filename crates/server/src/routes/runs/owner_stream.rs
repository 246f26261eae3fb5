//! The event stream of all runs and questions of an owner, and of switches.

use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use serde_json::json;
use tokio::sync::watch;
use toolcrib_core::RunStatus;
use toolcrib_ops::runs;

use crate::api::sse::{self, LAST_EVENT_ID, event_id, frame, last_event_seq, ping};
use crate::problem::Problem;
use crate::role::Principal;
use crate::run_supervisor;
use crate::state::DaemonState;

/// Maximum number of runs of each state in the snapshot.
const MAX_RUNS: usize = 1_000;

/// Streams changes of the owner's runs and questions, and of switches. The first event is a
/// snapshot of open runs and questions, unless the client continues after an event that is still
/// kept.
pub(super) async fn stream_all(
    daemon: &DaemonState,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let broadcast = daemon.run_supervisor().broadcast();
    let seen = last_event_seq(headers.get(LAST_EVENT_ID), &broadcast.series);
    let changes = broadcast.subscribe();
    let (first, last) = match seen.filter(|last| broadcast.after(*last).is_some()) {
        Some(last) => (None, last),
        None => {
            // Read the number first: events that occur while the rows are read are then sent again.
            let last = broadcast.last_seq();
            (Some(owner_snapshot(daemon, &principal.owner, last).await?), last)
        }
    };
    let owner = principal.owner.clone();
    let all = OwnerStream { daemon: daemon.clone(), owner, changes, last, first };
    Ok(sse::response(stream::unfold(all, |mut all| async move {
        let text = all.next().await?;
        Some((text, all))
    })))
}

/// Returns the runs that have not ended, and the open questions.
async fn owner_snapshot(daemon: &DaemonState, owner: &str, last: u64) -> Result<String, Problem> {
    let stores = daemon.stores();
    let mut runs = Vec::new();
    for status in [RunStatus::Running, RunStatus::Paused] {
        for run in stores.runs.runs(owner, Some(status), MAX_RUNS).await? {
            let (why, _) = runs::status_text(&run);
            runs.push(json!({
                "run": run.id, "conversation": run.conversation, "agent": run.context.agent,
                "state": run.status, "status": why,
            }));
        }
    }
    let pending = stores.approvals.pending().await?;
    let approvals: Vec<_> = pending
        .iter()
        .filter(|request| request.context.owner == owner)
        .map(run_supervisor::approval_row)
        .collect();
    let data = json!({"runs": runs, "approvals": approvals}).to_string();
    Ok(frame(&event_id(&daemon.run_supervisor().broadcast().series, last), "snapshot", &data))
}

/// The position of a client in the stream.
struct OwnerStream {
    daemon: DaemonState,
    owner: String,
    changes: watch::Receiver<u64>,
    last: u64,
    first: Option<String>,
}

impl OwnerStream {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let broadcast = self.daemon.run_supervisor().broadcast();
            let series = &broadcast.series;
            let Some(events) = broadcast.after(self.last) else {
                self.last = broadcast.last_seq();
                return owner_snapshot(&self.daemon, &self.owner, self.last).await.ok();
            };
            let mut text = String::new();
            for event in events {
                self.last = event.seq;
                if event.is_for(&self.owner) {
                    text += &frame(&event_id(series, event.seq), event.name, &event.data);
                }
            }
            if !text.is_empty() {
                return Some(text);
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.daemon.shutdown_token().cancelled() => return None,
                () = tokio::time::sleep(self.daemon.settings().ping_interval) => return Some(ping()),
            }
        }
    }
}
