//! The parent as seen by its child calls, and the locks that keep each parent in one pipeline of
//! this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;
use toolcrib_core::{CallId, CancellationToken, ParentCall};

/// Context that a child call receives from its parent.
pub(crate) struct ParentContext {
    pub(crate) within: ParentCall,
    /// Cancelled with the parent; `None` if the parent does not currently run in this process.
    pub(crate) cancel: Option<CancellationToken>,
    /// Slots for concurrent calls of the parent.
    pub(crate) slots: Option<Arc<Semaphore>>,
}

/// Parents that run in this process, so that each is in at most one pipeline of it.
#[derive(Default)]
pub(crate) struct ParentLocks {
    locks: Mutex<HashMap<CallId, Weak<tokio::sync::Mutex<()>>>>,
}

impl ParentLocks {
    pub(crate) fn lock_for(&self, parent: CallId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&parent).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        locks.insert(parent, Arc::downgrade(&lock));
        lock
    }
}
