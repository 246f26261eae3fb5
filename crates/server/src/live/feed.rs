//! What happens to all runs, questions and switches: the states that a page shows beside the run it looks at.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// Newest entries that are kept for readers that were away.
const KEPT: usize = 1_024;

/// One entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its number, from 1.
    pub(crate) seq: u64,
    /// Whose it is; `None` = everybody's.
    owner: Option<String>,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its JSON form.
    pub(crate) data: Arc<str>,
}

impl Entry {
    /// Whether this owner may see it.
    pub(crate) fn is_for(&self, owner: &str) -> bool {
        self.owner.as_deref().is_none_or(|of| of == owner)
    }
}

/// The newest entries.
pub(crate) struct Feed {
    pub(crate) series: String,
    kept: Mutex<VecDeque<Entry>>,
    seq: watch::Sender<u64>,
}

impl Default for Feed {
    fn default() -> Self {
        let series = format!("{:08x}", fastrand::u32(..));
        Self { series, kept: Mutex::default(), seq: watch::channel(0).0 }
    }
}

impl Feed {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry.
    pub(crate) fn tell(&self, owner: Option<&str>, name: &'static str, what: &impl Serialize) {
        let data: Arc<str> = serde_json::to_string(what).unwrap_or_default().into();
        let mut kept = self.kept();
        let seq = *self.seq.borrow() + 1;
        kept.push_back(Entry { seq, owner: owner.map(str::to_owned), name, data });
        if kept.len() > KEPT {
            kept.pop_front();
        }
        self.seq.send_replace(seq);
    }

    /// The number of the newest entry.
    pub(crate) fn newest(&self) -> u64 {
        *self.seq.borrow()
    }

    /// Entries after this one; `None` = some of them are not kept any more, or never were.
    pub(crate) fn after(&self, last: u64) -> Option<Vec<Entry>> {
        let kept = self.kept();
        let newest = self.newest();
        let oldest = newest + 1 - kept.len() as u64;
        (last <= newest && last + 1 >= oldest)
            .then(|| kept.iter().filter(|entry| entry.seq > last).cloned().collect())
    }

    /// Says when something was added.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.seq.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_gets_what_is_missing_or_is_told_that_it_is_gone() {
        let feed = Feed::default();
        assert!(feed.after(0).unwrap().is_empty());
        for at in 0..KEPT as u64 + 5 {
            feed.tell(Some("ann"), "run", &at);
        }
        assert!(feed.after(4).is_none());
        assert_eq!(feed.after(5).unwrap().len(), KEPT);
        let rest = feed.after(feed.newest() - 2).unwrap();
        let data: Vec<&str> = rest.iter().map(|entry| &*entry.data).collect();
        assert_eq!(data, ["1027", "1028"]);
        assert!(feed.after(feed.newest() + 1).is_none());
        assert!(rest[0].is_for("ann") && !rest[0].is_for("ben"));
    }
}
