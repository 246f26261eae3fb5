//! Number and delays of retries. The delay is the provider's own, else 1 s, doubling each time.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use toolcrib_net::Head;

/// Default number of retries.
pub const RETRIES: u32 = 2;
/// Delay before the second attempt; it doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay. If a provider asks for more, the request fails with a message (the official SDKs
/// have the same bound).
pub(super) const MAX_DELAY: Duration = Duration::from_secs(60);
/// Largest random addition to a delay, as a share of it, so that many clients do not retry at the
/// same moment.
const JITTER: f64 = 0.25;

/// Returns the delay after this attempt (from 1); `None` if it is longer than [`MAX_DELAY`].
pub(super) fn retry_delay(attempt: u32, asked: Option<Duration>, chance: f64) -> Option<Duration> {
    let doubled = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(10));
    match asked.filter(|asked| !asked.is_zero()) {
        Some(asked) if asked > MAX_DELAY => None,
        Some(asked) => Some(asked),
        None => Some(doubled.min(MAX_DELAY).mul_f64(1.0 + JITTER * chance.clamp(0.0, 1.0))),
    }
}

/// Returns the delay that the provider asks for: `retry-after-ms`, or `Retry-After` in seconds or
/// as a date (RFC 9110, 10.2.3).
pub(super) fn retry_after(head: &Head, wall: SystemTime) -> Option<Duration> {
    if let Some(ms) = head.header("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let value = head.header("retry-after")?;
    match number(value) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => until(value, wall),
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Returns the time until a date; zero if it is past.
fn until(date: &str, wall: SystemTime) -> Option<Duration> {
    let at = jiff::fmt::rfc2822::parse(date.trim()).ok()?.timestamp();
    let now = Timestamp::try_from(wall).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)]) -> Head {
        Head {
            status: 429,
            reason: String::new(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            headers_omitted: 0,
            final_url: String::new(),
            redirects: Vec::new(),
            peer: ([127, 0, 0, 1], 1).into(),
            content_length: None,
            undecoded: None,
        }
    }

    #[test]
    fn providers_say_when_in_several_ways() {
        // Sunday, 6 November 1994, 08:49:37.
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let ms = Duration::from_millis;
        for (headers, expected) in [
            (&[][..], None),
            (&[("Retry-After", "7")], Some(ms(7000))),
            (&[("retry-after", "0.5")], Some(ms(500))),
            (&[("retry-after", "0")], Some(ms(0))),
            (&[("retry-after", "30"), ("retry-after-ms", "1500")], Some(ms(1500))),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT")], Some(ms(23_000))),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(ms(0))),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "1e300")], None),
        ] {
            assert_eq!(retry_after(&head(headers), wall), expected, "{headers:?}");
        }
    }

    #[test]
    fn waits_double_and_the_provider_wins() {
        let s = Duration::from_secs;
        for (attempt, asked, chance, expected) in [
            (1, None, 0.0, Some(s(1))),
            (2, None, 0.0, Some(s(2))),
            (3, None, 0.0, Some(s(4))),
            (2, None, 1.0, Some(Duration::from_millis(2500))),
            (u32::MAX, None, 0.0, Some(MAX_DELAY)),
            (1, Some(s(0)), 0.0, Some(s(1))),
            (1, Some(s(7)), 1.0, Some(s(7))),
            (1, Some(MAX_DELAY), 0.0, Some(MAX_DELAY)),
            (1, Some(s(61)), 0.0, None),
        ] {
            assert_eq!(retry_delay(attempt, asked, chance), expected, "{attempt} {asked:?}");
        }
    }
}
