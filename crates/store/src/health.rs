//! Health of a store, shared between its threads, and its commit counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use toolcrib_core::StoreError;

/// Transactions committed by this handle and its clones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitCounts {
    /// Synced to disk: they survive a power loss.
    pub full: u64,
    /// Not synced: they survive the death of the process.
    pub normal: u64,
}

/// Health of a store.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The disk failed or the file was moved: writes are refused permanently.
    broken: OnceLock<StoreError>,
    /// The path refers to another file than the opened one: reads are refused too.
    moved: OnceLock<StoreError>,
    /// The disk is full: only outcomes of running calls are written.
    full: Mutex<Option<StoreError>>,
    is_full: AtomicBool,
    full_commits: AtomicU64,
    normal_commits: AtomicU64,
}

impl Health {
    /// Makes an error permanent. The first one wins.
    pub(crate) fn fail(&self, error: StoreError) {
        let _ = self.broken.set(error);
    }

    /// Records that the file is no longer at its path, so that reads fail too.
    pub(crate) fn mark_missing(&self, words: String) -> StoreError {
        let error = StoreError::Failed(words);
        let _ = self.moved.set(error.clone());
        self.fail(error.clone());
        error
    }

    /// Returns the error that every write gets.
    pub(crate) fn fatal_error(&self) -> Option<&StoreError> {
        self.broken.get()
    }

    /// Returns the error that every read gets.
    pub(crate) fn missing_error(&self) -> Option<&StoreError> {
        self.moved.get()
    }

    /// Returns whether an unawaited write would be accepted.
    pub(crate) fn accepts_writes(&self) -> bool {
        self.broken.get().is_none() && !self.is_full.load(Ordering::Acquire)
    }

    /// Records whether the disk is full.
    pub(crate) fn set_disk_full(&self, why: Option<StoreError>) {
        self.is_full.store(why.is_some(), Ordering::Release);
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Returns the error while the disk is full.
    pub(crate) fn disk_full_error(&self) -> Option<StoreError> {
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

    /// Returns the commits so far.
    pub(crate) fn commits(&self) -> CommitCounts {
        CommitCounts {
            full: self.full_commits.load(Ordering::Relaxed),
            normal: self.normal_commits.load(Ordering::Relaxed),
        }
    }
}
