//! Streams of events: of one run, and of everything that is the caller's.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use serde_json::json;
use tokio::sync::watch;
use toolcrib_app::core::{CancellationToken, RunStatus, StoredRun};

use super::run::{Given, LiveRun, Seat, Told};
use super::sse::{self, event_id, frame, last_seen, ping};
use super::view::RunView;
use super::{Feed, stored};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;

/// How often a run that another process works on is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// What a browser says it has seen last.
const LAST_EVENT_ID: &str = "last-event-id";

/// The events of a run: its state first, then what happens, until it is over or the reader goes.
pub(crate) async fn of_run(
    daemon: &Daemon,
    run: StoredRun,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get(LAST_EVENT_ID);
    if let Some(live) = daemon.live().get(run.id) {
        return Ok(live_run(daemon, &live, last));
    }
    match run.status {
        RunStatus::Ended => {
            let view = stored::view(daemon, &run).await?;
            let only = snapshot(&event_id("ended", 0), &view);
            Ok(sse::response(stream::iter([only])))
        }
        RunStatus::Paused => {
            let view = stored::view(daemon, &run).await?;
            let live = daemon.live().adopt(&run, view);
            Ok(live_run(daemon, &live, last))
        }
        RunStatus::Running => Ok(elsewhere(daemon, run)),
    }
}

fn snapshot(id: &str, view: &RunView) -> String {
    frame(id, "snapshot", &serde_json::to_string(view).unwrap_or_default())
}

/// A reader of a run that is told here.
struct Reader {
    seat: Seat,
    told: watch::Receiver<u64>,
    last: Option<u64>,
    stopping: CancellationToken,
    ping: Duration,
}

fn live_run(daemon: &Daemon, live: &Arc<LiveRun>, last: Option<&HeaderValue>) -> Response {
    let reader = Reader {
        seat: live.sit(),
        told: live.watch(),
        last: last_seen(last, &live.series),
        stopping: daemon.stopping().clone(),
        ping: daemon.settings().ping,
    };
    sse::response(stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((text, reader))
    }))
}

impl Reader {
    async fn next(&mut self) -> Option<String> {
        loop {
            match self.seat.after(self.last) {
                Given::Events(events) => return Some(self.events(&events)),
                Given::Snapshot(seq, view) => {
                    self.last = Some(seq);
                    return Some(snapshot(&event_id(&self.seat.series, seq), &view));
                }
                Given::Over => return None,
                Given::Nothing => {}
            }
            tokio::select! {
                changed = self.told.changed() => changed.ok()?,
                () = self.stopping.cancelled() => return None,
                () = tokio::time::sleep(self.ping) => return Some(ping()),
            }
        }
    }

    fn events(&mut self, events: &[Told]) -> String {
        let mut text = String::new();
        for told in events {
            text += &frame(&event_id(&self.seat.series, told.seq), told.name, &told.data);
            self.last = Some(told.seq);
        }
        text
    }
}

/// A run that another process works on: its state, again whenever it has changed. It ends when that process is done with it: whoever asks
/// again is told what is then.
fn elsewhere(daemon: &Daemon, run: StoredRun) -> Response {
    let seen: Option<(u64, i64)> = None;
    let begin = (daemon.clone(), run, seen, 0_u32);
    sse::response(stream::unfold(begin, |(daemon, mut run, mut seen, mut quiet)| async move {
        loop {
            let now = (run.epoch, run.updated_at);
            if seen != Some(now) {
                let view = stored::view(&daemon, &run).await.ok()?;
                let id = event_id("elsewhere", u64::try_from(run.updated_at).unwrap_or(0));
                return Some((snapshot(&id, &view), (daemon, run, Some(now), 0)));
            }
            let is_elsewhere = run.status == RunStatus::Running && !daemon.live().drives(run.id);
            if !is_elsewhere {
                return None;
            }
            tokio::select! {
                () = daemon.stopping().cancelled() => return None,
                () = tokio::time::sleep(LOOK) => {}
            }
            run = daemon.stores().runs.run(run.id).await.ok().flatten()?;
            quiet += 1;
            if LOOK * quiet >= daemon.settings().ping {
                seen = Some((run.epoch, run.updated_at)).filter(|now| seen == Some(*now));
                if seen.is_some() {
                    return Some((ping(), (daemon, run, seen, 0)));
                }
            }
        }
    }))
}

/// What happens to all of the caller's runs and questions, and to switches: which there are first, then each change.
pub(crate) async fn of_everything(
    daemon: &Daemon,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let feed = daemon.live().feed();
    let seen = last_seen(headers.get(LAST_EVENT_ID), &feed.series);
    let told = feed.watch();
    let (first, last) = match seen.filter(|last| feed.after(*last).is_some()) {
        Some(last) => (None, last),
        None => {
            // The number first: what happens while the rows are read is told again.
            let last = feed.newest();
            (Some(everything(daemon, &principal.owner, last).await?), last)
        }
    };
    let owner = principal.owner.clone();
    let all = All { daemon: daemon.clone(), owner, told, last, first };
    Ok(sse::response(stream::unfold(all, |mut all| async move {
        let text = all.next().await?;
        Some((text, all))
    })))
}

/// The runs that are not over, and the questions that are open.
async fn everything(daemon: &Daemon, owner: &str, last: u64) -> Result<String, Problem> {
    const MOST: usize = 1_000;
    let stores = daemon.stores();
    let mut runs = Vec::new();
    for status in [RunStatus::Running, RunStatus::Paused] {
        for run in stores.runs.runs(owner, Some(status), MOST).await? {
            let (why, _) = stored::status_of(&run);
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
        .map(super::question_row)
        .collect();
    let data = json!({"runs": runs, "approvals": approvals}).to_string();
    Ok(frame(&event_id(&daemon.live().feed().series, last), "snapshot", &data))
}

/// A reader of everything.
struct All {
    daemon: Daemon,
    owner: String,
    told: watch::Receiver<u64>,
    last: u64,
    first: Option<String>,
}

impl All {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let feed: &Feed = self.daemon.live().feed();
            let series = &feed.series;
            let Some(entries) = feed.after(self.last) else {
                self.last = feed.newest();
                return everything(&self.daemon, &self.owner, self.last).await.ok();
            };
            let mut text = String::new();
            for entry in entries {
                self.last = entry.seq;
                if entry.is_for(&self.owner) {
                    text += &frame(&event_id(series, entry.seq), entry.name, &entry.data);
                }
            }
            if !text.is_empty() {
                return Some(text);
            }
            tokio::select! {
                changed = self.told.changed() => changed.ok()?,
                () = self.daemon.stopping().cancelled() => return None,
                () = tokio::time::sleep(self.daemon.settings().ping) => return Some(ping()),
            }
        }
    }
}
