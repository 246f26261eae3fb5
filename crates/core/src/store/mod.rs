//! What is remembered, behind traits: an in-memory form lives in the engine, databases in the store crate.

mod approvals;
mod audit;
mod calls;
mod grants;
mod history;
mod measured;
mod sums;
mod switches;
mod tokens;
mod usage;

pub use approvals::{ApprovalStore, Question, Waiting};
pub use audit::AuditStore;
pub use calls::{
    ARGS_BYTES, Acceptance, AcceptedBatch, CallEnd, CallFacts, CallRecord, CallRow, CallStore,
    CutOff, IdempotencyKey, Intent, KEY_CHARS, MESSAGE_CHARS, Recovered, Settlement, StoredCall,
    WorkerState,
};
pub use grants::GrantStore;
pub use history::{CallFilter, CallHistory, CallStatus, LastError, ToolMetrics};
pub use measured::{MeasuredEnd, MetricsTally};
pub use sums::UsageTally;
pub use switches::{Switch, SwitchState, SwitchStore};
pub use tokens::{ApiToken, Revocation, TokenHash, TokenStore};
pub use usage::{UsageBy, UsageRow, UsageStore, UsageSum};

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The record is already there or already decided.
    #[error("already recorded: {0}")]
    Conflict(String),
    /// A newer owner has taken the record over.
    #[error("the record belongs to epoch {current}, not {claimed}")]
    Fenced {
        /// Epoch of the record.
        current: u64,
        /// Epoch that tried to write.
        claimed: u64,
    },
    /// No such record.
    #[error("no such record: {0}")]
    Missing(String),
    /// There is no room on the disk; what was written before stands, and writing works again once there is room.
    #[error("the disk is full: {0}")]
    Full(String),
    /// Somebody else held the database longer than a write waits; trying again can help.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// The store itself failed.
    #[error("store failed: {0}")]
    Failed(String),
}
