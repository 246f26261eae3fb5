//! The vocabulary of Toolcrib: what a tool is, what a call is, and what becomes of it.
//!
//! Everything here is plain data and small traits, so that every other crate can talk about tools without seeing the engine, a
//! provider, a store or a terminal.
//!
//! Invariants
//! - [`ErrorType`] is the one closed table from failure to outcome, text for the model, HTTP status and exit code.
//! - [`Entry`] is closed and ordered: provider-defined before hosted before local, so the wrong order of matching cannot be written.
//! - [`Invoker`] is the only door: nothing else hands a call to a [`Handler`].
//! - [`Answer`] has two arms, so every caller has to think about suspension.
//!
//! Absent on purpose: a runtime, HTTP, files, environment, any provider. (`tokio-util` is here for its cancellation token only.)

pub mod approval;
pub mod artifact;
pub mod audit;
pub mod brake;
pub mod call;
pub mod canonical;
pub mod catalog;
pub mod clock;
pub mod conversation;
pub mod defaults;
pub mod entry;
pub mod error;
pub mod exposure;
pub mod gate;
pub mod grant;
pub mod hook;
pub mod id;
pub mod invoke;
pub mod name;
pub mod near;
pub mod nest;
pub mod outcome;
pub mod output;
pub mod pattern;
pub mod permission;
pub mod rule;
pub mod schema;
pub mod seal;
pub mod spec;
pub mod spill;
pub mod store;
pub mod taint;
pub mod tool;
mod tool_meta;

use std::future::Future;
use std::pin::Pin;

pub use approval::{
    ApprovalRequest, Approver, AskReason, Asked, Decision, DecisionRecord, ReasonKind, UserQuestion,
};
pub use artifact::{ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter};
pub use audit::{AuditCheckpoint, AuditEvent, AuditKind, AuditRow, AuditSigner};
pub use brake::Brake;
pub use call::{Batch, CHANNELS, Call, Context, Origin, RawArgs, Within, channel};
pub use catalog::{Catalog, Excluded, Exclusion, ModelAbility, ToolInfo, View, ViewRequest};
pub use clock::{Clock, SystemClock};
pub use conversation::{
    Checkpoints, Conversation, ConversationStore, FactStore, OpenRun, RunStatus, RunStore,
    StoredMessage, StoredRun,
};
pub use entry::{Entry, ProviderSpec, Source};
pub use error::{ErrorType, ToolError};
pub use exposure::{Embedder, Exposure, NoExposure};
pub use gate::{Gate, Proposal, Vote};
pub use grant::{Grant, GrantScope};
pub use hook::{Event, EventKind, Guard, GuardVerdict, Observer};
pub use id::{ApprovalId, BatchId, CallId, ConversationId, GrantId, RunId, TokenId};
pub use invoke::{Answer, Invoker, RunLimits, RunSpec, RunUsage, Watch};
pub use name::{NameError, ToolName, remote_name};
pub use nest::{Children, Nested, Nesting, Turn};
pub use outcome::{ModelResult, Outcome, OutcomeKind, Report, Stage, StageRecord, StageVerdict};
pub use output::{Blob, Block, ToolOutput, Trust};
pub use permission::{Permission, PermissionState, Permissions};
pub use rule::{Decider, RuleRef, Ruling, Verdict};
pub use seal::{SealError, Sealer};
pub use spec::{
    Access, Assessment, ConfigKey, Effect, Example, Operation, Reach, Risk, Status, Tier, ToolSpec,
};
pub use store::{
    Acceptance, AcceptedBatch, ApiToken, ApprovalStore, AuditStore, CallEnd, CallFacts, CallFilter,
    CallHistory, CallRecord, CallRow, CallStatus, CallStore, CutOff, GrantStore, IdempotencyKey,
    Intent, LastError, MeasuredEnd, MetricsTally, Recovered, Revocation, Settlement, StoreError,
    StoredCall, Switch, SwitchState, SwitchStore, TokenHash, TokenStore, ToolMetrics, UsageBy,
    UsageRow, UsageStore, UsageSum, UsageTally, WorkerState,
};
pub use taint::{Label, Labels, Raised};
pub use tokio_util::sync::CancellationToken;
pub use tool::{CallCtx, Handler, Progress, StreamSink, Tool, Typed};
pub use tool_meta::{MetaTooLong, ToolMeta};

/// A boxed future, for the traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
