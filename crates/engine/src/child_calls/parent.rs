//! The running call that makes other calls, as these see it, and the locks that keep it in one
//! pipeline of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;
use toolcrib_core::{CallId, CancellationToken, ParentCall};

/// What a call knows of the call that makes it.
pub(crate) struct ParentContext {
    pub(crate) within: ParentCall,
    /// Ends with the parent; `None` = the parent does not run here now.
    pub(crate) cancel: Option<CancellationToken>,
    /// Calls of the parent that may run at once.
    pub(crate) slots: Option<Arc<Semaphore>>,
}

/// Parents that run here, so that each is in one pipeline of this process at most.
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
