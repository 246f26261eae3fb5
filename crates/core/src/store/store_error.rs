//! Errors of store operations.

/// Why a store operation failed.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The record exists or is already decided.
    #[error("already recorded: {0}")]
    Conflict(String),
    /// A newer epoch owns the record.
    #[error("the record belongs to epoch {current}, not {claimed}")]
    Fenced {
        /// Epoch of the record.
        current: u64,
        /// Epoch that tried to write.
        claimed: u64,
    },
    /// The record does not exist.
    #[error("no such record: {0}")]
    Missing(String),
    /// The disk is full. Earlier writes are unaffected, and writing works again once there is room.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The database was locked longer than a write waits; a retry can help.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// The store itself failed.
    #[error("store failed: {0}")]
    Failed(String),
}
