//! Accepts each nonce of a peer once, and only within the time window.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::error::DeviceError;
use crate::signature::SIGNATURE_WINDOW_S;

/// Maximum nonces that are kept: 100 requests a minute of 64 apps, twice.
const MOST: usize = 12_800;
/// Characters of a nonce.
const NONCE_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// The nonces that were accepted within the window.
pub(crate) struct Nonces {
    /// The time of each request, in seconds, by peer and nonce.
    seen: Mutex<HashMap<(String, String), i64>>,
    /// When this process began, in seconds. Earlier requests are refused, because another process
    /// may have accepted them.
    since: i64,
}

impl Nonces {
    pub(crate) fn new(now_s: i64) -> Self {
        Self { seen: Mutex::default(), since: now_s }
    }

    /// Checks the time of a request and accepts its nonce.
    ///
    /// # Errors
    /// [`DeviceError::Unauthorized`] says whether the clock, the start of the daemon or a repeated
    /// nonce is the reason.
    pub(crate) fn accept(
        &self,
        peer: &str,
        nonce: &str,
        timestamp: &str,
        now_s: i64,
    ) -> Result<(), DeviceError> {
        let refused = |text: String| Err(DeviceError::Unauthorized(text));
        let Ok(time) = timestamp.trim().parse::<i64>() else {
            return refused("the time stamp is not a Unix time in seconds".to_owned());
        };
        let apart = now_s.saturating_sub(time);
        if apart.abs() > SIGNATURE_WINDOW_S {
            let how = if apart > 0 { "behind" } else { "ahead of" };
            return refused(format!(
                "the time of the request is {} s {how} this machine's clock, and at most {SIGNATURE_WINDOW_S} s are accepted: set the clock",
                apart.unsigned_abs()
            ));
        }
        if time < self.since {
            return refused(
                "the request was made before this daemon started; send a new one".to_owned(),
            );
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !NONCE_CHARS.contains(&nonce.len()) || !nonce.chars().all(plain) {
            return refused("a nonce has 16 to 64 of a-z, A-Z, 0-9, `-` and `_`".to_owned());
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, time| now_s.saturating_sub(*time) <= SIGNATURE_WINDOW_S);
        if seen.len() >= MOST {
            return refused(
                "there are too many requests of apps; try again in a minute".to_owned(),
            );
        }
        if seen.insert((peer.to_owned(), nonce.to_owned()), time).is_some() {
            return refused("the nonce was used before; every request needs a new one".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_accepted_once_and_in_time() {
        let nonces = Nonces::new(1_000);
        let check = |nonce: &str, time: &str, now: i64, part: Option<&str>| {
            let said = nonces.accept("a", nonce, time, now).err().map(|error| error.to_string());
            match (part, &said) {
                (None, None) => {}
                (Some(part), Some(said)) => assert!(said.contains(part), "{said}"),
                _ => panic!("{nonce} {time} {now}: {said:?}"),
            }
        };
        let nonce = "0123456789abcdef";
        check(nonce, "1010", 1_010, None);
        check(nonce, "1010", 1_010, Some("used before"));
        check("0123456789abcdeg", "1010", 1_070, None);
        check("0123456789abcdeh", "1010", 1_071, Some("61 s behind"));
        check("0123456789abcdei", "1132", 1_071, Some("61 s ahead"));
        check("0123456789abcdej", "999", 1_010, Some("before this daemon started"));
        check("0123456789abcdek", "soon", 1_010, Some("not a Unix time"));
        check("short", "1010", 1_010, Some("16 to 64"));
        check("0123456789abcde\n", "1010", 1_010, Some("16 to 64"));
        // The nonce of another app is another nonce.
        assert!(nonces.accept("b", nonce, "1010", 1_010).is_ok());
    }
}
