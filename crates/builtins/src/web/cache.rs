//! A cache of results with a lifetime, bounded in entries.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Results by key. A new entry replaces the oldest one; expired entries are removed.
pub(crate) struct Cache<V> {
    lifetime: Duration,
    capacity: usize,
    entries: Mutex<HashMap<String, (Instant, V)>>,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new(lifetime: Duration, capacity: usize) -> Self {
        Self { lifetime, capacity, entries: Mutex::default() }
    }

    /// Returns the result of this key, unless it has expired.
    pub(crate) fn get(&self, key: &str) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (stored, value) = entries.get(key)?;
        (stored.elapsed() < self.lifetime).then(|| value.clone())
    }

    pub(crate) fn put(&self, key: String, value: V) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= self.capacity && !entries.contains_key(&key) {
            entries.retain(|_, (stored, _)| stored.elapsed() < self.lifetime);
            let oldest = entries.iter().min_by_key(|(_, (stored, _))| *stored);
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| entries.len() >= self.capacity) {
                entries.remove(&oldest);
            }
        }
        entries.insert(key, (Instant::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_and_the_oldest_makes_room() {
        let cache = Cache::new(Duration::from_secs(60), 2);
        for key in ["a", "b", "c"] {
            cache.put(key.to_owned(), key);
        }
        assert_eq!([cache.get("a"), cache.get("b"), cache.get("c")], [None, Some("b"), Some("c")]);
        let short = Cache::new(Duration::ZERO, 2);
        short.put("a".to_owned(), 1);
        assert_eq!(short.get("a"), None);
    }
}
