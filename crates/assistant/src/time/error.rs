//! Errors of times and schedules, with texts that say what to write instead.

use super::recurrence::MAX_INTERVAL_MINUTES;

/// Why a time or a schedule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not a time zone.
    #[error("There is no time zone \"{0}\". Use an IANA name such as Europe/Berlin, or UTC.")]
    Zone(String),
    /// Not a time, or one that does not exist in the calendar.
    #[error(
        "\"{0}\" is not a date and time that exists. Write it as 2026-11-30T09:00, or with an offset as 2026-11-30T09:00:00+01:00."
    )]
    Time(String),
    /// A time that has passed.
    #[error("{given} is in the past: now it is {now}. Give a time in the future.")]
    Past {
        /// The time.
        given: String,
        /// The current time.
        now: String,
    },
    /// Not a cron expression.
    #[error(
        "\"{cron}\" is not a cron expression: {why}. It has five fields: minute (0-59), hour (0-23), day of month (1-31), month (1-12 or JAN-DEC), day of week (0-6 or SUN-SAT), such as \"0 9 * * MON-FRI\"."
    )]
    Cron {
        /// The expression.
        cron: String,
        /// The problem.
        why: String,
    },
    /// A cron expression that no date matches.
    #[error(
        "The cron expression \"{0}\" never matches: no date has this day and month (day of month and day of week must both match)."
    )]
    Never(String),
    /// Not a recurrence word.
    #[error(
        "\"{0}\" is not a recurrence. Use daily, weekly, monthly, weekdays, hourly, or interval:N with N minutes from 1 to {MAX_INTERVAL_MINUTES}."
    )]
    Recurrence(String),
    /// None or several of the parameters for the time are set.
    #[error("{0}")]
    When(String),
}

/// Returns at most 100 characters of a text, for an error.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
