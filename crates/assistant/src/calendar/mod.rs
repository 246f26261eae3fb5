//! Calendar events as iCalendar files (RFC 5545).

mod event;
mod ics;
#[cfg(test)]
mod tests;
mod time_zone;

pub use event::{CalendarError, Event, EventTime, MAX_ATTENDEES, MAX_REMINDERS, NewEvent};
pub use ics::to_ics;
