//! Lists the tools of a server again after it has reported a change. Frequent reports cost little:
//! one check runs at a time, at most one more waits, and the pause before it grows while the
//! reports continue.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::tool_list;

/// The first pause between two checks; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// See [`FIRST_PAUSE`]. After this long without a report, the pause is reset.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Time limit of one check.
const LOOK_TIME: Duration = Duration::from_secs(15);

/// The state of the checks of one server.
#[derive(Default)]
pub(crate) struct ToolRecheck(Mutex<RecheckState>);

#[derive(Default)]
struct RecheckState {
    runs: bool,
    /// Whether a report arrived since the current check began.
    queued: bool,
    pause: Duration,
    /// End of the last check.
    last: Option<Instant>,
}

impl ToolRecheck {
    fn lock(&self) -> MutexGuard<'_, RecheckState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a report; returns `true` if a check must be started.
    fn report(&self) -> bool {
        let mut state = self.lock();
        state.queued = true;
        !std::mem::replace(&mut state.runs, true)
    }

    /// Returns how long to wait before the next check; `None` if there is none.
    fn next(&self) -> Option<Duration> {
        let mut state = self.lock();
        if !std::mem::take(&mut state.queued) {
            state.runs = false;
            return None;
        }
        let since = state.last.map(|last| last.elapsed());
        state.pause = match since {
            Some(since) if since < LONGEST_PAUSE => {
                (state.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
            }
            _ => Duration::ZERO,
        };
        Some(state.pause.saturating_sub(since.unwrap_or_default()))
    }

    fn ended(&self) {
        self.lock().last = Some(Instant::now());
    }
}

impl Connection {
    /// Lists the tools again after the server reported a change.
    pub(crate) fn recheck_tools(&self) {
        let Some(me) = self.weak().upgrade() else { return };
        if !self.recheck().report() {
            return;
        }
        tokio::spawn(async move {
            while let Some(pause) = me.recheck().next() {
                tokio::time::sleep(pause).await;
                // This check covers the reports that arrived during the pause.
                me.recheck().lock().queued = false;
                me.look_at_tools().await;
                me.recheck().ended();
            }
        });
    }

    async fn look_at_tools(&self) {
        let Some(live) = self.connected().await else { return };
        let listed = tool_list::list_definitions(live.peer());
        let listed = match tokio::time::timeout(LOOK_TIME, listed).await {
            Ok(listed) => listed.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {} s", LOOK_TIME.as_secs())),
        };
        match listed {
            Ok(listed) => {
                let before = live.advertised();
                let now = before.with_definitions(&listed.definitions);
                live.set_cut(listed.cut);
                if now != before {
                    self.remember_seen(&now).await;
                    live.set_advertised(now);
                    self.host().tools_changed(self.config().name.as_str());
                }
            }
            Err(error) => {
                self.log().push_line(&format!("its tools could not be listed again: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_between_looks_grows_and_one_look_runs_at_a_time() {
        let recheck = ToolRecheck::default();
        assert!(recheck.report());
        assert!(!recheck.report(), "it runs already");
        assert_eq!(recheck.next(), Some(Duration::ZERO), "the first look is at once");
        let mut pauses = Vec::new();
        for _ in 0..12 {
            assert!(!recheck.report());
            recheck.ended();
            pauses.push(recheck.next().unwrap().as_secs_f64().ceil() as u64);
        }
        assert_eq!(pauses, [1, 1, 1, 1, 2, 4, 7, 13, 26, 52, 60, 60]);
        assert_eq!(recheck.next(), None);
        assert!(recheck.report(), "and it can be started again");
    }
}
