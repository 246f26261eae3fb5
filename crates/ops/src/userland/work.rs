//! Background work of a daemon on the userland: one job at a time, with its log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_sandbox::userland::Progress;

use super::progress::ProgressText;
use crate::error::OpError;

/// Maximum number of lines of the log.
const LINES: usize = 500;
/// Maximum number of characters of a line.
const LINE_CHARS: usize = 400;

/// The current or last work on the userland.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UserlandWorkReply {
    /// The work, such as `install` or `packages add hello`; absent = none since the daemon started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Whether it is still running.
    pub running: bool,
    /// The reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// Number of earlier lines that were removed.
    pub dropped: usize,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
}

/// The work of a process. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct UserlandWork {
    now: Arc<Mutex<Now>>,
}

#[derive(Debug, Default)]
struct Now {
    what: Option<String>,
    running: bool,
    failed: Option<String>,
    log: VecDeque<String>,
    dropped: usize,
    started_at: Option<i64>,
}

/// The log of work in progress. Dropping it ends the work.
pub(super) struct WorkLog {
    work: UserlandWork,
    text: ProgressText,
}

impl UserlandWork {
    /// Returns the current or last work.
    #[must_use]
    pub fn show(&self) -> UserlandWorkReply {
        let now = self.lock();
        UserlandWorkReply {
            what: now.what.clone(),
            running: now.running,
            failed: now.failed.clone(),
            log: now.log.iter().cloned().collect(),
            dropped: now.dropped,
            started_at: now.started_at,
        }
    }

    /// Starts work, unless other work is in progress.
    pub(super) fn begin(&self, what: String) -> Result<WorkLog, OpError> {
        let mut now = self.lock();
        if now.running {
            let other = now.what.clone().unwrap_or_default();
            return Err(OpError::Conflict(format!("the userland is busy: {other}")));
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let started_at = i64::try_from(time).ok();
        *now = Now { what: Some(what), running: true, started_at, ..Now::default() };
        Ok(WorkLog { work: self.clone(), text: ProgressText::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkLog {
    /// Writes the progress to the log.
    pub(super) fn told(&self, progress: Progress) {
        let Some(line) = self.text.line(progress) else { return };
        let mut now = self.work.lock();
        now.log.push_back(line.chars().take(LINE_CHARS).collect());
        if now.log.len() > LINES {
            now.log.pop_front();
            now.dropped += 1;
        }
    }

    /// Ends the work.
    pub(super) fn end(self, ended: Result<(), OpError>) {
        self.work.lock().failed = ended.err().map(|error| error.to_string());
    }
}

impl Drop for WorkLog {
    fn drop(&mut self) {
        self.work.lock().running = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_work_at_a_time_and_a_bounded_log() {
        let work = UserlandWork::default();
        assert_eq!(work.show(), UserlandWorkReply::default());
        let log = work.begin("install".to_owned()).unwrap();
        assert!(matches!(work.begin("remove".to_owned()), Err(OpError::Conflict(_))));
        for number in 0..LINES + 3 {
            log.told(Progress::Said(format!("line {number} {}", "x".repeat(1_000))));
        }
        let now = work.show();
        assert_eq!((now.running, now.log.len(), now.dropped), (true, LINES, 3));
        assert!(now.log[0].starts_with("line 3 ") && now.log[0].chars().count() == LINE_CHARS);
        log.end(Err(OpError::Unavailable("no mirror".to_owned())));
        let now = work.show();
        assert_eq!((now.running, now.failed.as_deref()), (false, Some("no mirror")));
        // Work that panics or is aborted does not block later work.
        drop(work.begin("remove".to_owned()).unwrap());
        assert!(!work.show().running && work.show().log.is_empty());
    }
}
