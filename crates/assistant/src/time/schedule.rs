//! All schedules that make a task due by time, in one type.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cron::Cron;
use super::instant::LocalTime;
use super::recurrence::Recurrence;
use super::window::Window;

/// Maximum missed slots that are counted, so that a task of every minute costs little after a year
/// of suspension.
const MAX_COUNTED: u64 = 100_000;

/// A schedule.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// One time.
    Once(LocalTime),
    /// A cron expression.
    Cron(Box<Cron>),
    /// A recurrence.
    Recurrence(Recurrence),
    /// Every few minutes in a daily period.
    Window(Window),
    /// No time: an event makes the task due. The text describes it for people.
    Event(String),
}

impl Schedule {
    /// Returns the first instant after this one; `None` if there is none.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Once(time) => Some(time.instant).filter(|instant| *instant > after),
            Self::Cron(cron) => cron.next_after(after, zone),
            Self::Recurrence(recurrence) => recurrence.next_after(after, zone),
            Self::Window(window) => window.next_after(after, zone),
            Self::Event(_) => None,
        }
    }

    /// Returns the next instants, at most `count`.
    #[must_use]
    pub fn next(&self, after: Timestamp, zone: &TimeZone, count: usize) -> Vec<Timestamp> {
        std::iter::successors(self.next_after(after, zone), |last| self.next_after(*last, zone))
            .take(count)
            .collect()
    }
}

/// The times between a due time and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Times after the due one that have also passed.
    pub missed: u64,
    /// The first time in the future.
    pub next: Option<Timestamp>,
}

/// Counts the slots after `due` until `now`, and finds the first one after it.
#[must_use]
pub fn slots_until(schedule: &Schedule, zone: &TimeZone, due: Timestamp, now: Timestamp) -> Slots {
    let mut missed = 0;
    let mut last = due;
    while missed < MAX_COUNTED {
        match schedule.next_after(last, zone) {
            Some(next) if next <= now => {
                missed += 1;
                last = next;
            }
            next => return Slots { missed, next },
        }
    }
    Slots { missed, next: schedule.next_after(now, zone) }
}
