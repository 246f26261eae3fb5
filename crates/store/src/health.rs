//! What the threads of a store tell each other: how it is, and what its commits cost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use toolcrib_core::StoreError;

/// Transactions that this handle and its clones committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitCounts {
    /// Synced to the disk: they survive the loss of power.
    pub full: u64,
    /// Not synced: they survive the death of the process.
    pub normal: u64,
}

/// How a store is.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The disk failed, or the file is no longer where it was: nothing is written any more.
    broken: OnceLock<StoreError>,
    /// What the reads are told, when the path leads to another file than the one that was opened.
    moved: OnceLock<StoreError>,
    /// There was no room, and there is none yet: only outcomes of what runs are written.
    full: Mutex<Option<StoreError>>,
    is_full: AtomicBool,
    full_commits: AtomicU64,
    normal_commits: AtomicU64,
}

impl Health {
    /// The last error there is: the first one stands.
    pub(crate) fn fail(&self, error: StoreError) {
        let _ = self.broken.set(error);
    }

    /// The file is no longer where it was: reads fail too.
    pub(crate) fn lose(&self, words: String) -> StoreError {
        let error = StoreError::Failed(words);
        let _ = self.moved.set(error.clone());
        self.fail(error.clone());
        error
    }

    /// Why nothing is written any more.
    pub(crate) fn broken(&self) -> Option<&StoreError> {
        self.broken.get()
    }

    /// Why nothing is read any more.
    pub(crate) fn moved(&self) -> Option<&StoreError> {
        self.moved.get()
    }

    /// Whether a write that nobody waits for would be accepted.
    pub(crate) fn takes_writes(&self) -> bool {
        self.broken.get().is_none() && !self.is_full.load(Ordering::Acquire)
    }

    /// Remembers whether there is room.
    pub(crate) fn set_full(&self, why: Option<StoreError>) {
        self.is_full.store(why.is_some(), Ordering::Release);
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why there is no room.
    pub(crate) fn full(&self) -> Option<StoreError> {
        if !self.is_full.load(Ordering::Acquire) {
            return None;
        }
        self.full.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a commit.
    pub(crate) fn committed(&self, is_full: bool) {
        let counter = if is_full { &self.full_commits } else { &self.normal_commits };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The commits so far.
    pub(crate) fn commits(&self) -> CommitCounts {
        CommitCounts {
            full: self.full_commits.load(Ordering::Relaxed),
            normal: self.normal_commits.load(Ordering::Relaxed),
        }
    }
}
