//! Call store: intent records, outcomes, accepted batches and recovery after a crash.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::call::{Batch, Context, Origin};
use crate::error::{ErrorType, ToolError};
use crate::id::{ApprovalId, BatchId, CallId, RunId};
use crate::outcome::{Outcome, Report};
use crate::outcome_kind::OutcomeKind;
use crate::spec::{Effect, Risk};
use crate::tool_name::ToolName;

/// Maximum bytes of arguments that are stored with a call; of longer ones only the hash is stored.
pub const ARGS_BYTES: usize = 16 * 1024;
/// Maximum characters of an error message in a call's row.
pub const MESSAGE_CHARS: usize = 300;
/// Maximum characters of an idempotency key.
pub const KEY_CHARS: usize = 200;

/// What a model reads about a call whose process ended while it ran.
const CUT_OFF: &str = "Outcome unknown: the program ended while this call was running, and it may have taken effect. Do not repeat it without checking what it did.";
/// The same for a call that changes nothing.
const INTERRUPTED: &str =
    "The program ended while this call was running. It changes nothing, so it can be called again.";

/// What a model reads about a call of this process that could not be recorded, because the store
/// was away for longer than the claim of the process held.
const CUT_OFF_BY_OUTAGE: &str = "Outcome unknown: the database was away while this call was running, so its end is not recorded, and it may have taken effect. Do not repeat it without checking what it did.";
/// The same for a call that changes nothing.
const INTERRUPTED_BY_OUTAGE: &str = "The database was away while this call was running. It changes nothing, so it can be called again.";

/// The data of a call that does not depend on how it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDetails {
    /// The call.
    pub call: CallId,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: Arc<Context>,
    /// Canonical name, if the tool was found.
    pub tool: Option<ToolName>,
    /// Requested name, if it is not the canonical one.
    pub asked: Option<String>,
    /// The operation that policy evaluates.
    pub operation: Option<String>,
    /// Hash of the tool's definition.
    pub definition_hash: Option<String>,
    /// Assessed risk.
    pub risk: Option<Risk>,
    /// Assessed effect; it decides what a crash means.
    pub effect: Option<Effect>,
    /// Canonical arguments as JSON text with secrets masked; `None` if they could not be parsed or
    /// are longer than [`ARGS_BYTES`].
    pub args: Option<String>,
    /// SHA-256 of the canonical arguments.
    pub args_hash: Option<String>,
    /// The question that was decided about the call.
    pub approval: Option<ApprovalId>,
    /// Name of the person who approved.
    pub approved_by: Option<String>,
    /// The policy's ruling in one line; `None` if the call did not reach policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The running call that made this one, such as a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// When the call was received, Unix time in milliseconds.
    pub received_at: i64,
}

/// Intent record: written before anything runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The call.
    pub facts: CallDetails,
    /// Start, Unix time in milliseconds.
    pub started_at: i64,
    /// Fencing epoch of the process that runs the call.
    pub epoch: u64,
}

impl Intent {
    /// Whether the call may simply run again; `false` if its effect is unknown.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.facts.effect.is_some_and(Effect::is_repeatable)
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnd {
    /// Outcome.
    pub outcome: OutcomeKind,
    /// Error type, if it failed.
    pub error_type: Option<ErrorType>,
    /// Beginning of the error message.
    pub message: Option<String>,
    /// Attempts that were started.
    pub attempts: u32,
    /// Nanoseconds that the tool ran.
    pub run_nanos: u64,
    /// End, Unix time in milliseconds.
    pub ended_at: i64,
    /// SHA-256 of the stored outcome.
    pub output_hash: Option<String>,
}

/// The record of an ended call; each call has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call.
    pub facts: CallDetails,
    /// Start, Unix time in milliseconds; `None` if it never started.
    pub started_at: Option<i64>,
    /// Fencing epoch of the process that ran it.
    pub epoch: u64,
    /// How it ended.
    pub end: CallEnd,
}

/// A call, ended or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// The call.
    pub facts: CallDetails,
    /// Start, Unix time in milliseconds; `None` if it never started.
    pub started_at: Option<i64>,
    /// Fencing epoch of the process that runs or ran it.
    pub epoch: u64,
    /// How it ended; `None` while it has no outcome.
    pub end: Option<CallEnd>,
}

impl From<CallRecord> for CallRow {
    fn from(record: CallRecord) -> Self {
        let CallRecord { facts, started_at, epoch, end } = record;
        Self { facts, started_at, epoch, end: Some(end) }
    }
}

/// The end of a call with the outcome that repeated requests get.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The row.
    pub record: CallRecord,
    /// The outcome as [`Outcome::to_text`]; `None` if the store keeps no outcomes.
    pub outcome: Option<String>,
}

impl Settlement {
    /// Adds the outcome and its hash.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &Outcome) -> Self {
        let text = outcome.to_text();
        self.record.end.output_hash = Some(Outcome::hash_text(&text));
        self.outcome = Some(text);
        self
    }

    /// The end of a call whose process died while it ran: `unknown`, or `cancelled` if it changes
    /// nothing.
    #[must_use]
    pub fn from_crash(intent: Intent, now_ms: i64, epoch: u64) -> Self {
        Self::interrupted(intent, now_ms, epoch, [INTERRUPTED, CUT_OFF])
    }

    /// The same for a call of a process that lives and could not reach the store for longer than
    /// its claim holds.
    #[must_use]
    pub fn from_outage(intent: Intent, now_ms: i64, epoch: u64) -> Self {
        Self::interrupted(intent, now_ms, epoch, [INTERRUPTED_BY_OUTAGE, CUT_OFF_BY_OUTAGE])
    }

    /// `texts`: for a call that changes nothing, and for others.
    fn interrupted(
        intent: Intent,
        now_ms: i64,
        epoch: u64,
        [repeatable, unknown]: [&'static str; 2],
    ) -> Self {
        let (error_type, text) = if intent.is_repeatable() {
            (ErrorType::Cancelled, repeatable)
        } else {
            (ErrorType::UnknownOutcome, unknown)
        };
        let facts = intent.facts;
        let tool = facts.tool.clone();
        let asked = facts.asked.clone().or_else(|| tool.as_ref().map(ToString::to_string));
        let kind = error_type.outcome();
        let outcome = Outcome {
            call: facts.call,
            asked: asked.unwrap_or_default(),
            tool,
            kind,
            result: Err(ToolError::new(error_type, text)),
            notes: Vec::new(),
            report: Report {
                attempts: 1,
                operation: facts.operation.clone(),
                risk: facts.risk,
                effect: facts.effect,
                approved_by: facts.approved_by.clone(),
                ..Report::default()
            },
            unrecorded: None,
        };
        let end = CallEnd {
            outcome: kind,
            error_type: Some(error_type),
            message: Some(text.to_owned()),
            attempts: 1,
            run_nanos: 0,
            ended_at: now_ms,
            output_hash: None,
        };
        let record = CallRecord { facts, started_at: Some(intent.started_at), epoch, end };
        Self { record, outcome: None }.with_outcome(&outcome)
    }
}

/// A call as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCall {
    /// The row.
    pub row: CallRow,
    /// The outcome, if it ended.
    pub outcome: Option<Outcome>,
    /// Whether the process that runs it is alive; `false` for an ended call.
    pub is_owner_alive: bool,
    /// Earlier attempts that a crash interrupted, oldest first, if the store keeps them.
    pub earlier: Vec<InterruptedAttempt>,
}

/// An attempt that a crash interrupted, of a call that changes nothing and therefore ran again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptedAttempt {
    /// Fencing epoch of the process that ran it.
    pub epoch: u64,
    /// Unix time in milliseconds.
    pub started_at: Option<i64>,
}

/// Idempotency key of a batch: sending the batch twice under it runs it once. Keys are scoped to an
/// owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// The caller's key, 1 to [`KEY_CHARS`] characters.
    pub key: String,
    /// SHA-256 of the request: the same key with a different request is rejected.
    pub fingerprint: String,
}

/// An accepted batch: from now on each of its calls gets its one outcome, even after a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcceptedBatch {
    /// Its id.
    pub id: BatchId,
    /// The caller's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// The calls as received.
    pub batch: Batch,
    /// Unix time in milliseconds.
    pub accepted_at: i64,
    /// Fencing epoch of the process that works on it.
    pub epoch: u64,
}

/// A store's answer to a batch.
#[derive(Debug, Clone)]
pub enum Acceptance {
    /// The batch is stored.
    New,
    /// A batch was already accepted under this key; the calls of that batch count.
    Known {
        /// The batch that was accepted first.
        first: Box<AcceptedBatch>,
        /// Whether the process that accepted it is alive.
        is_owner_alive: bool,
    },
}

/// State of the holder of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// It is alive; the text describes it, such as `process 4711`.
    Alive(String),
    /// It has ended or died.
    Gone,
    /// The number was never claimed.
    Unknown,
}

/// The result of [`CallStore::recover`] for calls of dead processes.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// Calls that may have changed something: they ended as `unknown`.
    pub unknown: Vec<CallId>,
    /// Calls that change nothing and that no run or batch resumes: they ended as `cancelled`.
    pub interrupted: Vec<CallId>,
}

/// Stores calls and their outcomes.
pub trait CallStore: Send + Sync {
    /// Whether calls are recorded with arguments, hashes and results. If not, only their ends are
    /// counted.
    fn keeps_details(&self) -> bool {
        true
    }

    /// Claims a new number, larger than all earlier ones, under which this process works on calls
    /// until [`release`](Self::release) or its end. Several claims can be active at once; each
    /// writes only its own records.
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Ends a claim; calls that are still open under it count as abandoned.
    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Releases the claims of former processes in the place of this one, so that their work is
    /// recovered now and not when their leases expire. To be called by a process that holds a lock
    /// that each of them held. A store that sees by itself which processes are alive does nothing.
    fn release_former(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether the holder of a claim is alive.
    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>>;

    /// Accepts a batch durably. The same key with a different request is a
    /// [`StoreError::Conflict`].
    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>>;

    /// [`accept`](Self::accept) for a caller that makes a write that survives a power loss before
    /// it answers anybody: until then the batch may survive only the death of this process.
    fn accept_ahead(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.accept(batch)
    }

    /// Takes over an accepted batch from a dead process; `false` if its owner is alive or another
    /// process was faster.
    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Unfinished accepted batches whose process is dead, oldest first. A process that has the
    /// environment of one takes it with [`take_batch`](Self::take_batch).
    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>>;

    /// The unfinished accepted batch of a call: a call is known from its acceptance on, before it
    /// starts.
    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>>;

    /// Marks a batch as finished: each of its calls has its outcome or waits for a person. Its key
    /// stays known.
    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Replaces the stored calls of a finished batch, some of whose arguments are not needed any
    /// more. A store that keeps nothing beyond the process need not do anything.
    fn shorten_batch(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        drop(batch);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Records that a call starts. A call without an intent record must not run, unless it only
    /// reads and the error is [`StoreError::Full`]. Durable when this returns, if the call may
    /// change something.
    ///
    /// An existing call is a [`StoreError::Conflict`], unless it is open, changes nothing and its
    /// process is dead: then this is its next attempt. A claim that was taken over is
    /// [`StoreError::Fenced`].
    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Withdraws an intent record: the call waits for a person and is begun again when it resumes.
    /// Applies only to an open call that changes nothing by itself and was begun under this claim;
    /// otherwise nothing happens.
    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Records the one outcome of a call; a second one is a [`StoreError::Conflict`]. A call that
    /// never started has no intent record.
    ///
    /// The end of an open call must come from the process that began it: another epoch is
    /// [`StoreError::Fenced`]. A different or missing `started_at` is a [`StoreError::Conflict`]:
    /// the same call was sent twice, and this copy is not the one that runs.
    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns a call.
    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>>;

    /// The outcome's text exactly as stored, which is the input of the recorded hash. A store
    /// without its own copy serializes the parsed outcome again.
    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let stored = self.call(call).await?;
            Ok(stored.and_then(|stored| stored.outcome).map(|outcome| outcome.to_text()))
        })
    }

    /// Calls that started and have no outcome, oldest first.
    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>>;

    /// Recovers what dead processes left open, in one transaction, for the holder of `epoch`. Calls
    /// that may have changed something end as `unknown`. Calls that change nothing stay open if a
    /// run or batch can resume them, and otherwise end as `cancelled`. Unfinished accepted batches
    /// stay for a process with their environment, see
    /// [`abandoned_batches`](Self::abandoned_batches).
    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>>;
}
