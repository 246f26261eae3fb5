//! One request at a time per idempotency key of an owner, within this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The lock that a request holds while it claims a key.
type KeyLock = tokio::sync::Mutex<()>;

/// The keys that are being claimed, with their owners.
#[derive(Default)]
pub(super) struct KeyLocks(Mutex<HashMap<(String, String), Weak<KeyLock>>>);

impl KeyLocks {
    /// Returns the lock of a key.
    pub(super) fn lock(&self, owner: &str, key: &str) -> Arc<KeyLock> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, lock| lock.strong_count() > 0);
        let name = (owner.to_owned(), key.to_owned());
        if let Some(lock) = keys.get(&name).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        keys.insert(name, Arc::downgrade(&lock));
        lock
    }
}
