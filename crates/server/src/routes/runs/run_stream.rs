//! The event stream of one run.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::watch;
use toolcrib_core::{CancellationToken, RunStatus, StoredRun};
use toolcrib_ops::runs::RunSnapshot;

use crate::api::sse::{self, LAST_EVENT_ID, event_id, frame, last_event_seq, ping};
use crate::problem::Problem;
use crate::run_supervisor::{ActiveRun, ReadResult, RunEvent, RunSubscriber};
use crate::state::DaemonState;

/// Interval for reading a run that another process drives: the store does not notify.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Streams a run: its snapshot first, then its events, until the run ends or the client
/// disconnects.
pub(super) async fn stream_run(
    daemon: &DaemonState,
    run: StoredRun,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get(LAST_EVENT_ID);
    if let Some(live) = daemon.run_supervisor().get(run.id) {
        return Ok(local_run(daemon, &live, last));
    }
    match run.status {
        RunStatus::Ended => {
            let view = daemon.run_supervisor().load_snapshot(&run).await?;
            let only = snapshot(&event_id("ended", 0), &view);
            Ok(sse::response(stream::iter([only])))
        }
        RunStatus::Paused => {
            let view = daemon.run_supervisor().load_snapshot(&run).await?;
            let live = daemon.run_supervisor().track(&run, view);
            Ok(local_run(daemon, &live, last))
        }
        RunStatus::Running => Ok(remote_run(daemon, run)),
    }
}

fn snapshot(id: &str, view: &RunSnapshot) -> String {
    frame(id, "snapshot", &serde_json::to_string(view).unwrap_or_default())
}

/// The position of a client in the stream of a run of this process.
struct RunStream {
    run: RunSubscriber,
    changes: watch::Receiver<u64>,
    last: Option<u64>,
    shutdown: CancellationToken,
    ping: Duration,
}

fn local_run(daemon: &DaemonState, live: &Arc<ActiveRun>, last: Option<&HeaderValue>) -> Response {
    let reader = RunStream {
        run: live.subscribe(),
        changes: live.changes(),
        last: last_event_seq(last, &live.event_series),
        shutdown: daemon.shutdown_token().clone(),
        ping: daemon.settings().ping_interval,
    };
    sse::response(stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((text, reader))
    }))
}

impl RunStream {
    async fn next(&mut self) -> Option<String> {
        loop {
            match self.run.after(self.last) {
                ReadResult::Events(events) => return Some(self.events(&events)),
                ReadResult::Snapshot(seq, view) => {
                    self.last = Some(seq);
                    return Some(snapshot(&event_id(&self.run.event_series, seq), &view));
                }
                ReadResult::Closed => return None,
                ReadResult::Nothing => {}
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.shutdown.cancelled() => return None,
                () = tokio::time::sleep(self.ping) => return Some(ping()),
            }
        }
    }

    fn events(&mut self, events: &[RunEvent]) -> String {
        let mut text = String::new();
        for event in events {
            text += &frame(&event_id(&self.run.event_series, event.seq), event.name, &event.data);
            self.last = Some(event.seq);
        }
        text
    }
}

/// Streams a run that another process drives: its snapshot, and a new one after every change. The
/// stream ends when that process stops driving the run; a client that reconnects gets its new
/// state.
fn remote_run(daemon: &DaemonState, run: StoredRun) -> Response {
    let seen: Option<(u64, i64)> = None;
    let begin = (daemon.clone(), run, seen, 0_u32);
    sse::response(stream::unfold(begin, |(daemon, mut run, mut seen, mut quiet)| async move {
        loop {
            let now = (run.epoch, run.updated_at);
            if seen != Some(now) {
                let view = daemon.run_supervisor().load_snapshot(&run).await.ok()?;
                let id = event_id("elsewhere", u64::try_from(run.updated_at).unwrap_or(0));
                return Some((snapshot(&id, &view), (daemon, run, Some(now), 0)));
            }
            let is_elsewhere =
                run.status == RunStatus::Running && !daemon.run_supervisor().is_driving(run.id);
            if !is_elsewhere {
                return None;
            }
            tokio::select! {
                () = daemon.shutdown_token().cancelled() => return None,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            run = daemon.stores().runs.run(run.id).await.ok().flatten()?;
            quiet += 1;
            if POLL_INTERVAL * quiet >= daemon.settings().ping_interval {
                seen = Some((run.epoch, run.updated_at)).filter(|now| seen == Some(*now));
                if seen.is_some() {
                    return Some((ping(), (daemon, run, seen, 0)));
                }
            }
        }
    }))
}
