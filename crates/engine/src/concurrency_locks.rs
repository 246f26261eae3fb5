//! Concurrency keys: calls that hold the same key share it or wait for each other, in the order of
//! their requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use toolcrib_core::Access;

/// All keys in use.
#[derive(Debug, Default)]
pub(crate) struct ConcurrencyLocks {
    keys: Arc<Mutex<HashMap<String, Arc<RwLock<()>>>>>,
}

/// A held key, released when dropped.
#[derive(Debug)]
pub(crate) struct KeyLock {
    guard: Option<Guard>,
    key: String,
    keys: Arc<Mutex<HashMap<String, Arc<RwLock<()>>>>>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for its drop")]
enum Guard {
    Shared(OwnedRwLockReadGuard<()>),
    Exclusive(OwnedRwLockWriteGuard<()>),
}

impl ConcurrencyLocks {
    /// Waits for all of these keys in one global order, so that no two calls wait for each other.
    pub(crate) async fn acquire_all(&self, mut keys: Vec<(String, Access)>) -> Vec<KeyLock> {
        // Exclusive sorts after shared, and the later of two entries of one key remains.
        keys.sort();
        keys.reverse();
        keys.dedup_by(|a, b| a.0 == b.0);
        let mut held = Vec::with_capacity(keys.len());
        for (key, access) in keys {
            held.push(self.acquire(&key, access).await);
        }
        held
    }

    /// Waits for the key. tokio's lock is fair, so no call starves.
    async fn acquire(&self, key: &str, access: Access) -> KeyLock {
        // Created first and dropped last, so that an abandoned wait leaves no unused key behind.
        let mut held = KeyLock { guard: None, key: key.to_owned(), keys: Arc::clone(&self.keys) };
        let lock = {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(keys.entry(key.to_owned()).or_default())
        };
        held.guard = Some(match access {
            Access::Shared => Guard::Shared(lock.read_owned().await),
            Access::Exclusive => Guard::Exclusive(lock.write_owned().await),
        });
        held
    }
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        self.guard = None;
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Only the map still refers to the lock: no call holds it or waits for it.
        if keys.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            keys.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn exclusive_waits_and_unused_keys_go() {
        let locks = ConcurrencyLocks::default();
        let first = locks.acquire("file:a", Access::Shared).await;
        let second = locks.acquire("file:a", Access::Shared).await;
        let writer = locks.acquire("file:a", Access::Exclusive);
        tokio::pin!(writer);
        assert!(futures_util::poll!(writer.as_mut()).is_pending());
        let mut given_up = Box::pin(locks.acquire("file:a", Access::Exclusive));
        assert!(futures_util::poll!(given_up.as_mut()).is_pending());
        drop((first, second));
        drop(writer.await);
        assert!(!locks.keys.lock().unwrap().is_empty(), "a call still waits");
        drop(given_up);
        assert!(locks.keys.lock().unwrap().is_empty());
    }
}
