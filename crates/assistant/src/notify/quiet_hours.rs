//! Quiet hours: a daily period in which nothing is pushed.

use std::str::FromStr;

use jiff::civil::{DateTime, Time};

/// A daily period, possibly over midnight. The end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    start: Time,
    end: Time,
}

impl QuietHours {
    /// Returns the end of the quiet hours, if this local time is in them.
    #[must_use]
    pub fn until(&self, now: DateTime) -> Option<Time> {
        let time = now.time();
        let is_quiet = if self.start < self.end {
            (self.start..self.end).contains(&time)
        } else {
            time >= self.start || time < self.end
        };
        is_quiet.then_some(self.end)
    }
}

impl FromStr for QuietHours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is not a daily time such as `22:00-07:00`");
        let (start, end) = text.split_once('-').ok_or_else(refuse)?;
        let time = |text: &str| Time::strptime("%H:%M", text.trim()).map_err(|_| refuse());
        let (start, end) = (time(start)?, time(end)?);
        if start == end {
            return Err(format!("`{text}` is empty: start and end are the same"));
        }
        Ok(Self { start, end })
    }
}
