//! Store traits and errors. The engine has an in-memory implementation, the store crate has
//! databases.

mod approvals;
mod assistant_rows;
mod audit;
mod call_history;
mod call_metrics;
mod calls;
mod document_chunks;
mod grants;
mod memories;
mod monitor;
mod notifications;
mod switches;
mod tasks;
mod tokens;
mod usage;
mod usage_totals;

pub use approvals::{ApprovalStore, ApprovalWithDecision, PendingApproval};
pub use assistant_rows::{AssistantRowStore, ROW_CHANGES_AGE, ROW_CHANGES_KEPT};
pub use audit::AuditStore;
pub use call_history::{CallFilter, CallHistory, CallStatus, LastError, ToolMetrics};
pub use call_metrics::{CallSample, MetricsAggregator};
pub use calls::{
    ARGS_BYTES, Acceptance, AcceptedBatch, CallDetails, CallEnd, CallRecord, CallRow, CallStore,
    IdempotencyKey, Intent, InterruptedAttempt, KEY_CHARS, MESSAGE_CHARS, Recovered, Settlement,
    StoredCall, WorkerState,
};
pub use document_chunks::DocumentChunkStore;
pub use grants::GrantStore;
pub use memories::{MEMORY_CHANGES_AGE, MEMORY_CHANGES_KEPT, MemoryStore};
pub use monitor::{DatabaseFigures, LATENCY_SECONDS, Latency, Member, StoreMonitor, UnsharedStore};
pub use notifications::NotificationStore;
pub use switches::{Switch, SwitchState, SwitchStore};
pub use tasks::TaskStore;
pub use tokens::{ApiToken, Revocation, TokenHash, TokenStore};
pub use usage::{QUARTER_HOUR_MS, UsageBy, UsageRow, UsageStore, UsageTotals, quarter_hour};
pub use usage_totals::UsageAggregator;

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
