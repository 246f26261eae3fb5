//! Settings of notifications.

use std::str::FromStr;

use jiff::civil::Time;

use crate::web::ApiKey;

/// Notifications in an hour unless the owner sets another number.
pub(crate) const DEFAULT_PER_HOUR: u32 = 20;

/// Where notifications go and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationSettings {
    /// Whether the desktop shows them; `None`: yes, if there is one.
    pub desktop: Option<bool>,
    /// A topic of ntfy, `https://ntfy.sh/TOPIC`, which shows them on phones.
    pub ntfy: Option<NotificationTarget>,
    /// An address that gets `{"title", "body", "urgency"}` by POST.
    pub webhook: Option<NotificationTarget>,
    /// Hours in which only urgent ones are sent, in local time.
    pub quiet: Option<QuietHours>,
    /// Most notifications in an hour; `None`: 20.
    pub per_hour: Option<u32>,
}

/// An address that gets notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationTarget {
    /// The address.
    pub url: String,
    /// Token that is sent as `Authorization: Bearer`.
    pub token: Option<ApiKey>,
}

impl NotificationSettings {
    /// The tokens, so that secrets of the vault can be put in place of their names.
    pub fn keys_mut(&mut self) -> impl Iterator<Item = &mut ApiKey> {
        let targets = self.ntfy.iter_mut().chain(&mut self.webhook);
        targets.filter_map(|target| target.token.as_mut())
    }
}

/// A span of the day, which may go over midnight. Parsed from `HH:MM-HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    from: Time,
    to: Time,
}

impl QuietHours {
    /// Whether this time of day is quiet. The end is not.
    #[must_use]
    pub fn contains(&self, time: Time) -> bool {
        if self.from <= self.to {
            self.from <= time && time < self.to
        } else {
            self.from <= time || time < self.to
        }
    }

    /// The end of the span.
    #[must_use]
    pub fn end(&self) -> Time {
        self.to
    }
}

impl FromStr for QuietHours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = |text: &str| Time::strptime("%H:%M", text.trim()).ok();
        let span = text.split_once('-').and_then(|(from, to)| Some((time(from)?, time(to)?)));
        match span {
            Some((from, to)) if from != to => Ok(Self { from, to }),
            _ => Err(format!("`{text}` is no span of hours such as `22:00-07:00`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let check = |span: &str, time: &str, quiet: bool| {
            let hours: QuietHours = span.parse().unwrap();
            assert_eq!(hours.contains(time.parse().unwrap()), quiet, "{span} {time}");
        };
        check("22:00-07:00", "23:30:00", true);
        check("22:00-07:00", "06:59:00", true);
        check("22:00-07:00", "07:00:00", false);
        check("22:00-07:00", "12:00:00", false);
        check("12:00-14:00", "12:00:00", true);
        check("12:00-14:00", "14:00:00", false);
        for wrong in ["", "22", "22:00", "25:00-07:00", "07:00-07:00", "22:00 to 07:00"] {
            assert!(wrong.parse::<QuietHours>().is_err(), "{wrong}");
        }
    }
}
