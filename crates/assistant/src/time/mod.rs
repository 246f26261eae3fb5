//! Computes when a task is due: pure functions of a schedule, a time zone and an instant.
//!
//! A time without a zone is in the person's zone. A fixed local time that the clock skips means the
//! first instant after the gap, and one that the clock shows twice means the first of both.
//! Schedules that count hours or minutes follow elapsed time: they have no times in a gap, and
//! times in both passes of an overlap.

mod cron;
mod daily_hours;
mod error;
mod instant;
mod next_lines;
mod recurrence;
mod schedule;
#[cfg(test)]
mod tests;
mod time_of_day;
mod time_range;
mod window;
mod words;

pub use cron::Cron;
pub use daily_hours::parse_daily_hours;
pub use error::TimeError;
pub use instant::{LocalTime, format_instant, parse_local_time, parse_zone, resolve};
pub use next_lines::next_line;
pub use recurrence::{MAX_INTERVAL_MINUTES, Recurrence, RecurrenceWord};
pub use schedule::{Schedule, Slots, slots_until};
pub use time_of_day::next_time_of_day;
pub use time_range::parse_time_range;
pub use window::Window;
pub use words::{describe, describe_next};
