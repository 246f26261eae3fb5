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
mod store_error;
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
pub use store_error::StoreError;
pub use switches::{Switch, SwitchState, SwitchStore};
pub use tasks::TaskStore;
pub use tokens::{ApiToken, Revocation, TokenHash, TokenStore};
pub use usage::{QUARTER_HOUR_MS, UsageBy, UsageRow, UsageStore, UsageTotals, quarter_hour};
pub use usage_totals::UsageAggregator;
