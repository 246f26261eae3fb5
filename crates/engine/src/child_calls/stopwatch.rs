//! Measures how long child calls run and how long they wait for people.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::{Answer, ApprovalRequest, BatchSubscriber, CallId, DecisionRecord};

/// The time during which at least one lap was open.
#[derive(Default)]
pub(super) struct Stopwatch(Mutex<Lap>);

#[derive(Default)]
struct Lap {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    fn with<T>(&self, act: impl FnOnce(&mut Lap) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self) {
        self.with(|lap| {
            lap.open += 1;
            lap.since.get_or_insert_with(Instant::now);
        });
    }

    fn end(&self) {
        self.with(|lap| {
            lap.open = lap.open.saturating_sub(1);
            if lap.open == 0
                && let Some(since) = lap.since.take()
            {
                lap.total += since.elapsed();
            }
        });
    }

    pub(super) fn total(&self) -> Duration {
        self.with(|lap| lap.total + lap.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

/// Ends a lap when dropped.
pub(super) struct StopwatchGuard<'a>(&'a Stopwatch);

impl<'a> StopwatchGuard<'a> {
    pub(super) fn of(watch: &'a Stopwatch) -> Self {
        watch.begin();
        Self(watch)
    }
}

impl Drop for StopwatchGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Counts the time in which one call waits for a person, and forwards its questions.
pub(super) struct ApprovalWaitTimer {
    watch: Arc<Stopwatch>,
    is_waiting: AtomicBool,
    /// The parent's subscriber, which sees the parent wait.
    next: Option<Arc<dyn BatchSubscriber>>,
    parent: CallId,
}

impl ApprovalWaitTimer {
    pub(super) fn new(
        watch: Arc<Stopwatch>,
        next: Option<Arc<dyn BatchSubscriber>>,
        parent: CallId,
    ) -> Self {
        Self { watch, is_waiting: AtomicBool::new(false), next, parent }
    }

    fn is_over(&self) {
        if self.is_waiting.swap(false, Ordering::AcqRel) {
            self.watch.end();
        }
    }
}

impl BatchSubscriber for ApprovalWaitTimer {
    fn on_approval_request(&self, request: &ApprovalRequest) {
        if !self.is_waiting.swap(true, Ordering::AcqRel) {
            self.watch.begin();
        }
        if let Some(next) = &self.next {
            next.on_approval_request(&ApprovalRequest { call: self.parent, ..request.clone() });
        }
    }

    fn on_decision(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        self.is_over();
        if let Some(next) = &self.next {
            next.on_decision(&ApprovalRequest { call: self.parent, ..request.clone() }, record);
        }
    }

    fn on_answer(&self, _: &Answer) {
        self.is_over();
    }
}

impl Drop for ApprovalWaitTimer {
    fn drop(&mut self) {
        self.is_over();
    }
}
