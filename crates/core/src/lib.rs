//! Shared vocabulary of Toolcrib: tools, calls, outcomes, policy, approvals and store traits.
//!
//! The crate contains plain data and small traits, so that every other crate can use tools without
//! depending on the engine, a provider, a store or a terminal.
//!
//! Invariants
//! - [`ErrorType`] is the one closed table from failure to outcome, text for the model, HTTP status
//!   and exit code.
//! - [`Entry`] is closed and ordered: provider-defined before hosted before local, so that code
//!   cannot match them in a wrong order.
//! - [`Invoker`] is the single entry to the pipeline: no other component passes a call to a
//!   [`Handler`].
//! - [`Answer`] has two variants, so that every caller has to handle suspension.
//!
//! The crate has no async runtime, no HTTP, no file access, no environment variables and no
//! provider. `tokio-util` is a dependency for its cancellation token only.

pub mod approval;
pub mod artifact;
pub mod artifact_builder;
pub mod assistant_row;
pub mod audit;
pub mod call;
pub mod canonical_json;
pub mod catalog;
pub mod clock;
pub mod conversation;
pub mod defaults;
pub mod display_text;
pub mod document;
pub mod entry;
pub mod error;
mod exclusion;
pub mod gate;
pub mod grant;
pub mod hook;
pub mod id;
pub mod invoker;
pub mod kill_switch;
pub mod memory;
pub mod nested_calls;
pub mod notification;
pub mod outcome;
mod outcome_kind;
pub mod output;
pub mod path_denials;
pub mod permission;
pub mod rule;
pub mod schema;
pub mod seal;
pub mod similar_names;
pub mod spec;
pub mod store;
pub mod surroundings;
pub mod taint;
pub mod task;
pub mod tool;
mod tool_meta;
pub mod tool_name;
pub mod tool_pattern;
pub mod tool_selection;
mod trust;
mod view_request;

use std::future::Future;
use std::pin::Pin;

pub use approval::{
    ApprovalReason, ApprovalRequest, Approver, ApproverReply, Decision, DecisionRecord, ReasonKind,
    UserQuestion,
};
pub use artifact::{ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter};
pub use assistant_row::{AssistantRow, AssistantRowChange, AssistantRowWrite, RowKind};
pub use audit::{AuditCheckpoint, AuditEvent, AuditKind, AuditRow, AuditSigner};
pub use call::{
    Batch, CHANNELS, Call, Context, MESSAGE_CHANNEL, Origin, ParentCall, RawArgs, effective_channel,
};
pub use catalog::{Catalog, Excluded, ToolInfo, View};
pub use clock::{Clock, SystemClock};
pub use conversation::{
    Conversation, ConversationAndRunStore, ConversationStore, DeletedConversation, KeyValueStore,
    OpenRun, RESTORABLE_MS, RunStatus, RunStore, StoredMessage, StoredRun,
};
pub use document::{ChunkVector, DocumentChunk, FoundChunk};
pub use entry::{Entry, ProviderSpec, Source};
pub use error::{ErrorType, Obstacle, ToolError};
pub use exclusion::Exclusion;
pub use gate::{Gate, GateInput, Vote};
pub use grant::{Grant, GrantScope};
pub use hook::{Event, EventKind, Guard, GuardVerdict, Observer};
pub use id::{
    ApprovalId, BatchId, CallId, ConversationId, GrantId, NotificationId, RunId, TaskId, TokenId,
};
pub use invoker::{Answer, BatchSubscriber, Invoker, RunLimits, RunSpec, RunUsage};
pub use kill_switch::KillSwitch;
pub use memory::{Author, Memory, MemoryCategory, MemoryChange, MemoryWrite};
pub use nested_calls::{ChildCallSpec, ChildInvoker, ParentHandler, ParentOutcome};
pub use notification::{FailedDelivery, Notification, Urgency};
pub use outcome::{ModelResult, Outcome, Report, Stage, StageRecord, StageVerdict, UnrecordedEnd};
pub use outcome_kind::OutcomeKind;
pub use output::{Blob, Block, ToolOutput};
pub use path_denials::{DenialReach, NoPathDenials, PathAccess, PathDenials};
pub use permission::{Permission, PermissionState, Permissions};
pub use rule::{Decider, RuleRef, Ruling, Verdict};
pub use seal::{SealError, Sealer};
pub use spec::{
    Access, Assessment, ConfigKey, Effect, Example, Operation, Reach, Risk, Status, Tier, ToolSpec,
};
pub use store::{
    Acceptance, AcceptedBatch, ApiToken, ApprovalStore, AssistantRowStore, AuditStore, CallDetails,
    CallEnd, CallFilter, CallHistory, CallRecord, CallRow, CallSample, CallStatus, CallStore,
    GrantStore, IdempotencyKey, Intent, InterruptedAttempt, LastError, MemoryStore,
    MetricsAggregator, NotificationStore, QUARTER_HOUR_MS, Recovered, Revocation, Settlement,
    StoreError, StoredCall, Switch, SwitchState, SwitchStore, TaskStore, TokenHash, TokenStore,
    ToolMetrics, UsageAggregator, UsageBy, UsageRow, UsageStore, UsageTotals, WorkerState,
    quarter_hour,
};
pub use surroundings::Surroundings;
pub use taint::{Label, LabelSource, Labels};
pub use task::{
    DailyHours, MailFilter, TASK_HISTORY, Task, TaskEvent, TaskExecution, TaskKind, TaskLease,
    TaskStatus, TaskTrigger,
};
pub use tokio_util::sync::{CancellationToken, DropGuard};
pub use tool::{CallCtx, Handler, Progress, StreamSink, Tool, TypedHandler};
pub use tool_meta::{MetaTooLong, ToolMeta};
pub use tool_name::{NameError, ToolName, remote_name};
pub use tool_selection::{Embedder, NoToolSelection, ToolSelection};
pub use trust::Trust;
pub use view_request::{ModelCapabilities, ViewRequest};

/// A boxed future, for traits that are used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
