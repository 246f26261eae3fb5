//! Which SMS of the phone are new, and how they are stored: pure.
//!
//! The app's ids of SMS are not unique, and the time of an SMS is that of the network: an SMS can
//! arrive after one with a later time. So the phone is asked for everything since a day before the
//! newest known SMS, and what was seen within that day is recognized by its content.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use toolcrib_core::canonical_json;

use super::text::{line, readable};
use crate::gateway::ReceivedSms;

/// How much earlier than the newest known SMS a new one may be: milliseconds.
pub(crate) const OVERLAP: i64 = 24 * 60 * 60 * 1000;
/// Maximum stored SMS; the oldest make room.
pub(crate) const MAX_STORED: usize = 1_000;
/// Maximum SMS that one step stores.
pub(super) const BATCH: usize = 50;
/// Maximum characters of a text: ten times those of ten parts fit.
const TEXT_CHARS: usize = 5_000;
/// Maximum characters of a sender.
const SENDER_CHARS: usize = 60;

/// A stored SMS. Its texts come from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSms {
    /// Its number: later SMS have larger ones.
    pub(crate) id: u64,
    /// Sender: a number, or a name that the network passes on unchecked.
    pub(crate) from: String,
    /// Text.
    pub(crate) text: String,
    /// Its time at the network: Unix time in milliseconds.
    pub(crate) at: i64,
    /// Whether hidden characters were removed from its text, or its end.
    pub(crate) is_changed: bool,
    /// Whether it was read here.
    pub(crate) is_read: bool,
}

/// An SMS that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    at: i64,
    digest: String,
}

/// The position up to which the phone was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The time of the newest known SMS: Unix time in milliseconds.
    pub(super) newest: i64,
    /// The number of the next SMS.
    next_id: u64,
    /// The SMS that were seen within [`OVERLAP`], the oldest first.
    seen: Vec<Seen>,
    /// Why the phone cannot be read now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

impl Position {
    /// Returns the position behind everything that the phone has now. `before` keeps the numbers of
    /// earlier SMS.
    pub(super) fn behind(existing: &[ReceivedSms], now: i64, before: Option<&Self>) -> Self {
        let newest = existing.iter().map(|sms| sms.at).max().unwrap_or(now);
        let next_id = before.map_or(1, |before| before.next_id);
        let mut position = Self { newest, next_id, seen: Vec::new(), problem: None };
        for sms in existing {
            position.note(sms, now);
        }
        position.tidy();
        position
    }

    /// Takes the oldest new SMS from those of the phone, at most [`BATCH`].
    pub(super) fn take(&mut self, found: &[ReceivedSms], now: i64) -> Vec<StoredSms> {
        let known: HashSet<&str> = self.seen.iter().map(|seen| seen.digest.as_str()).collect();
        let first = self.seen.first().filter(|_| self.seen.len() >= MAX_STORED);
        let oldest = first.map_or(self.newest - OVERLAP, |first| first.at);
        let is_new = |sms: &&ReceivedSms| sms.at >= oldest && !known.contains(&*digest(sms));
        let mut new: Vec<&ReceivedSms> = found.iter().filter(is_new).collect();
        new.sort_by_key(|sms| (sms.at, digest(sms)));
        // Pages that were read while an SMS arrived have one SMS twice.
        new.dedup_by_key(|sms| digest(sms));
        new.truncate(BATCH);
        let taken = new.iter().map(|sms| self.store(sms)).collect();
        for sms in new {
            self.note(sms, now);
        }
        self.tidy();
        taken
    }

    fn store(&mut self, sms: &ReceivedSms) -> StoredSms {
        let id = self.next_id;
        self.next_id += 1;
        let (text, is_changed) = readable(&sms.text, TEXT_CHARS);
        let from = line(&sms.sender, SENDER_CHARS);
        StoredSms { id, from, text, at: sms.at, is_changed, is_read: false }
    }

    /// Notes an SMS as seen. A time in the future does not hide what arrives until then.
    fn note(&mut self, sms: &ReceivedSms, now: i64) {
        self.newest = self.newest.max(sms.at.min(now));
        self.seen.push(Seen { at: sms.at, digest: digest(sms) });
    }

    fn tidy(&mut self) {
        let oldest = self.newest - OVERLAP;
        self.seen.retain(|seen| seen.at >= oldest);
        self.seen.sort_by_key(|seen| seen.at);
        let over = self.seen.len().saturating_sub(MAX_STORED);
        self.seen.drain(..over);
    }
}

/// Returns what recognizes an SMS.
fn digest(sms: &ReceivedSms) -> String {
    let at = sms.at.to_string();
    let mut hash = canonical_json::sha256_parts(&[&sms.id, &sms.sender, &sms.text, &at]);
    hash.truncate(24);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;
    const HOUR: i64 = 60 * 60 * 1000;

    fn sms(text: &str, at: i64) -> ReceivedSms {
        let (id, sender) = ("text:1".to_owned(), "+491701234567".to_owned());
        ReceivedSms { id, sender, text: text.to_owned(), at }
    }

    fn texts(taken: &[StoredSms]) -> Vec<&str> {
        taken.iter().map(|sms| sms.text.as_str()).collect()
    }

    #[test]
    fn an_sms_is_new_once_and_what_was_there_before_is_not() {
        let old = [sms("old", NOW - HOUR)];
        let mut position = Position::behind(&old, NOW, None);
        assert!(position.take(&old, NOW).is_empty());
        let late = sms("late", NOW - 2 * HOUR);
        let found = [sms("two", NOW), sms("one", NOW - 1), late.clone(), old[0].clone()];
        let taken = position.take(&found, NOW);
        assert_eq!(
            texts(&taken),
            ["late", "one", "two"],
            "the same id of the app is no repetition"
        );
        assert_eq!(taken.iter().map(|sms| sms.id).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(position.take(&found, NOW).is_empty());
        // What the app imports from before is not new.
        assert!(position.take(&[sms("ancient", NOW - 2 * OVERLAP)], NOW).is_empty());
    }

    #[test]
    fn a_time_in_the_future_hides_nothing() {
        let mut position = Position::behind(&[], NOW, None);
        assert_eq!(position.take(&[sms("future", NOW * 2)], NOW).len(), 1);
        assert_eq!(texts(&position.take(&[sms("next", NOW + 1)], NOW + 2)), ["next"]);
        assert!(position.take(&[sms("future", NOW * 2)], NOW).is_empty());
    }

    #[test]
    fn a_flood_is_taken_in_steps_and_repeats_nothing() {
        let mut position = Position::behind(&[], NOW, None);
        let later = NOW + 3000;
        let found: Vec<ReceivedSms> =
            (1..=1_500).map(|number| sms(&number.to_string(), NOW + number)).collect();
        let mut all = Vec::new();
        loop {
            let taken = position.take(&found, later);
            if taken.is_empty() {
                break;
            }
            assert!(taken.len() <= BATCH);
            all.extend(taken);
        }
        assert_eq!(all.len(), 1_500);
        assert_eq!(all.last().map(|sms| sms.id), Some(1_500));
        // Opting in again goes on with the numbers.
        let mut again = Position::behind(&found, later, Some(&position));
        assert_eq!(again.take(&[sms("new", later + 1)], later + 1)[0].id, 1_501);
    }
}
