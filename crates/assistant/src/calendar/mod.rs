//! Calendar events as iCalendar files (RFC 5545), and the owner's calendar on a CalDAV server.

mod account;
mod busy_times;
mod event;
mod free_times;
mod ics;
mod multistatus;
#[cfg(test)]
mod tests;
mod time_zone;

pub use account::{AccountError, CalendarAccount, CalendarSettings};
pub use busy_times::{BusyTimes, Interval};
pub use event::{CalendarError, Event, EventTime, MAX_ATTENDEES, MAX_REMINDERS, NewEvent};
pub use free_times::{MAX_DAYS, free_times};
pub use ics::to_ics;
