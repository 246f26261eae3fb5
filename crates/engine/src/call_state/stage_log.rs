//! The lines of a call's trace with the duration of each stage.

use std::time::Instant;

use toolcrib_core::{Stage, StageRecord, StageVerdict};

pub(super) struct StageLog {
    lines: Vec<StageRecord>,
    stage_start: Instant,
    /// The current time, if the clock has just been read.
    now: Option<Instant>,
}

impl StageLog {
    pub(super) fn new() -> Self {
        let lines = Vec::with_capacity(Stage::ALL.len());
        Self { lines, stage_start: Instant::now(), now: None }
    }

    /// Returns the nanoseconds since the previous stage. Skipped stages are not timed: skipping
    /// takes less time than reading the clock.
    pub(super) fn lap(&mut self, verdict: StageVerdict) -> u64 {
        if verdict == StageVerdict::Skipped {
            return 0;
        }
        let now = self.now.take().unwrap_or_else(Instant::now);
        let nanos = now.duration_since(self.stage_start).as_nanos() as u64;
        self.stage_start = now;
        nanos
    }

    pub(super) fn push(&mut self, line: StageRecord) {
        self.lines.push(line);
    }

    pub(super) fn stage_started(&self) -> Instant {
        self.stage_start
    }

    pub(super) fn reset(&mut self) {
        self.stage_start = Instant::now();
    }

    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }

    /// Returns the lines since the previous call of this function.
    pub(super) fn take(&mut self) -> Vec<StageRecord> {
        std::mem::take(&mut self.lines)
    }
}
