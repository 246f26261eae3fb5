//! Parses durations and amounts of money as people write them.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;

/// Maximum duration: a year. A longer one is probably a typo.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);
/// Maximum amount of money in USD.
const MAX_USD: f64 = 1e6;
/// Money is counted in millionths of a dollar.
const MICRO: f64 = 1e6;

/// Parses a duration: `90s`, `5m`, `1h`, `1h30m`, or plain seconds (`90`, `0.5`).
///
/// # Errors
/// A message for people, with the text.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let plain = trimmed.parse::<f64>().ok().map(Duration::try_from_secs_f64);
    let parsed = match plain {
        Some(plain) => plain.ok(),
        None => SpanParser::new().parse_unsigned_duration(trimmed).ok(),
    };
    parsed
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| format!("`{text}` is not a duration; write 90s, 5m or 1h, at most a year"))
}

/// Parses a longer time, also in days: `90d`, `12h`, at most ten years.
///
/// # Errors
/// A message for people, with the text.
pub(crate) fn parse_days(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 3600;
    let Some(number) = text.trim().strip_suffix('d') else { return parse_duration(text) };
    let days = number.parse::<u64>().ok().filter(|days| (1..=3660).contains(days));
    days.map(|days| Duration::from_secs(days * DAY))
        .ok_or_else(|| format!("`{text}` is not a time; write 90d or 12h, at most 3660d"))
}

/// Parses an amount of US dollars, `$0.50` or `0.5`, in millionths of a dollar.
///
/// # Errors
/// A message for people, with the text.
pub(crate) fn parse_micro_usd(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let number = trimmed.strip_prefix('$').unwrap_or(trimmed).trim_start();
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let parsed = number.parse::<f64>().ok().filter(|_| is_plain);
    parsed
        .filter(|usd| (0.0..=MAX_USD).contains(usd))
        .map(|usd| (usd * MICRO).round() as u64)
        .ok_or_else(|| format!("`{text}` is not an amount of money; write \"$0.50\" or 0.5 (USD)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, ms: Option<u64>| {
            assert_eq!(parse_duration(text).ok(), ms.map(Duration::from_millis), "{text}");
        };
        check("90s", Some(90_000));
        check("5m", Some(300_000));
        check("1h", Some(3_600_000));
        check("1h30m", Some(5_400_000));
        check("1h 30m", Some(5_400_000));
        check("1.5h", Some(5_400_000));
        check("500ms", Some(500));
        check(" 90 ", Some(90_000));
        check("0.5", Some(500));
        check("0", Some(0));
        for wrong in
            ["", "soon", "5x", "-1", "-5m", "1e300", "NaN", "inf", "9999d", "1h ago", "5 6"]
        {
            check(wrong, None);
        }
        let error = parse_duration("soon").unwrap_err();
        assert_eq!(error, "`soon` is not a duration; write 90s, 5m or 1h, at most a year");
    }

    #[test]
    fn days_are_taken_where_they_are_meant() {
        let seconds = |text: &str| parse_days(text).map(|time| time.as_secs()).ok();
        assert_eq!(seconds("90d"), Some(90 * 86_400));
        assert_eq!(seconds("12h"), Some(12 * 3600));
        for wrong in ["d", "0d", "-1d", "1.5d", "3661d", "99999999999999999999d"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn money() {
        let check = |text: &str, amount: Option<u64>| {
            assert_eq!(parse_micro_usd(text).ok(), amount, "{text}");
        };
        check("$0.50", Some(500_000));
        check("0.5", Some(500_000));
        check("$ 2", Some(2_000_000));
        check(".25", Some(250_000));
        check("0.000001", Some(1));
        for wrong in ["", "$", "-1", "1e3", "NaN", "inf", "1,50", "€1", "$$1", "10000000"] {
            check(wrong, None);
        }
        let error = parse_micro_usd("€1").unwrap_err();
        assert_eq!(error, "`€1` is not an amount of money; write \"$0.50\" or 0.5 (USD)");
    }
}
