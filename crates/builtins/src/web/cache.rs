//! A cache of results with a lifetime, bounded in entries.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Results by key. A new entry replaces the oldest one; expired entries are removed.
///
/// Times are those of the system clock, because the monotonic clock of Linux stands still while the
/// machine sleeps. An entry from the future is expired: the clock was set back.
pub(crate) struct Cache<V> {
    lifetime: Duration,
    capacity: usize,
    entries: Mutex<HashMap<String, (SystemTime, V)>>,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new(lifetime: Duration, capacity: usize) -> Self {
        Self { lifetime, capacity, entries: Mutex::default() }
    }

    /// Returns the result of this key, unless it has expired.
    pub(crate) fn get(&self, key: &str) -> Option<V> {
        self.get_at(key, SystemTime::now())
    }

    pub(crate) fn put(&self, key: String, value: V) {
        self.put_at(key, value, SystemTime::now());
    }

    fn get_at(&self, key: &str, now: SystemTime) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (stored, value) = entries.get(key)?;
        self.is_fresh(*stored, now).then(|| value.clone())
    }

    fn put_at(&self, key: String, value: V, now: SystemTime) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.capacity && !entries.contains_key(&key) {
            entries.retain(|_, (stored, _)| self.is_fresh(*stored, now));
            let oldest = entries.iter().min_by_key(|(_, (stored, _))| *stored);
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| entries.len() >= self.capacity) {
                entries.remove(&oldest);
            }
        }
        entries.insert(key, (now, value));
    }

    fn is_fresh(&self, stored: SystemTime, now: SystemTime) -> bool {
        now.duration_since(stored).is_ok_and(|age| age < self.lifetime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_and_the_oldest_makes_room() {
        let cache = Cache::new(Duration::from_secs(60), 2);
        let start = SystemTime::now();
        for (second, key) in ["a", "b", "c"].into_iter().enumerate() {
            cache.put_at(key.to_owned(), key, start + Duration::from_secs(second as u64));
        }
        let now = start + Duration::from_secs(3);
        let found = ["a", "b", "c"].map(|key| cache.get_at(key, now));
        assert_eq!(found, [None, Some("b"), Some("c")]);
    }

    #[test]
    fn an_entry_ends_with_its_lifetime_and_when_the_clock_is_set_back() {
        let day = Duration::from_secs(24 * 3600);
        let second = Duration::from_secs(1);
        let cache = Cache::new(day, 1);
        let stored = SystemTime::now();
        cache.put_at(String::new(), 1, stored);
        assert_eq!(cache.get_at("", stored + day - second), Some(1));
        assert_eq!(cache.get_at("", stored + day), None);
        assert_eq!(cache.get_at("", stored - second), None);
    }
}
