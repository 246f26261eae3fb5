//! Calls: what is written before one runs, what is written when it has ended, and what a crash leaves in between.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::call::{Batch, Context, Origin};
use crate::error::{ErrorType, ToolError};
use crate::id::{ApprovalId, BatchId, CallId, RunId};
use crate::name::ToolName;
use crate::outcome::{Outcome, OutcomeKind, Report};
use crate::spec::{Effect, Risk};

/// Bytes of arguments up to which they are kept with their call; longer ones are known by their hash.
pub const ARGS_BYTES: usize = 16 * 1024;
/// Characters of an error's text that are kept in a call's row.
pub const MESSAGE_CHARS: usize = 300;
/// Most characters of an idempotency key.
pub const KEY_CHARS: usize = 200;

/// What a model is told of a call that the end of a process cut off (DESIGN 4, Crash rule).
const CUT_OFF: &str = "Outcome unknown: the program ended while this call was running, and it may have taken effect. Do not repeat it without checking what it did.";
/// The same of a call that changes nothing.
const INTERRUPTED: &str =
    "The program ended while this call was running. It changes nothing, so it can be called again.";

/// What is known of a call, however it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Who asks.
    pub origin: Origin,
    /// Whose call it is.
    pub context: Arc<Context>,
    /// Canonical name, when it was found.
    pub tool: Option<ToolName>,
    /// Name as it was asked for, when it is not the canonical one.
    pub asked: Option<String>,
    /// The operation that policy names.
    pub operation: Option<String>,
    /// Hash of the tool's definition.
    pub definition_hash: Option<String>,
    /// Assessed risk.
    pub risk: Option<Risk>,
    /// Assessed effect: what a crash means.
    pub effect: Option<Effect>,
    /// Canonical arguments as JSON text, secrets masked; `None` = they could not be read, or are longer than [`ARGS_BYTES`].
    pub args: Option<String>,
    /// SHA-256 of the canonical arguments.
    pub args_hash: Option<String>,
    /// The question that was decided about it.
    pub approval: Option<ApprovalId>,
    /// Who approved.
    pub approved_by: Option<String>,
    /// What policy said, in one line; `None` = the call never came so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Milliseconds since 1970.
    pub received_at: i64,
}

/// "Started": written before anything runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The call.
    pub facts: CallFacts,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Fencing number of whoever runs it.
    pub epoch: u64,
}

impl Intent {
    /// Whether the call may simply run again; what says nothing of its effect may not.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.facts.effect.is_some_and(Effect::is_repeatable)
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnd {
    /// How.
    pub outcome: OutcomeKind,
    /// Why, when it failed.
    pub error_type: Option<ErrorType>,
    /// The first words of what went wrong.
    pub message: Option<String>,
    /// Attempts that were started.
    pub attempts: u32,
    /// Nanoseconds that the tool ran.
    pub run_nanos: u64,
    /// Milliseconds since 1970.
    pub ended_at: i64,
    /// SHA-256 of the outcome as it is kept.
    pub output_hash: Option<String>,
}

/// A call that has ended: one per call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call.
    pub facts: CallFacts,
    /// Milliseconds since 1970; `None` = it never started.
    pub started_at: Option<i64>,
    /// Fencing number of whoever ran it.
    pub epoch: u64,
    /// How it ended.
    pub end: CallEnd,
}

/// A call with its end, if it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// The call.
    pub facts: CallFacts,
    /// Milliseconds since 1970; `None` = it never started.
    pub started_at: Option<i64>,
    /// Fencing number of whoever runs or ran it.
    pub epoch: u64,
    /// How it ended; `None` = it was started and has no outcome yet.
    pub end: Option<CallEnd>,
}

impl From<CallRecord> for CallRow {
    fn from(record: CallRecord) -> Self {
        let CallRecord { facts, started_at, epoch, end } = record;
        Self { facts, started_at, epoch, end: Some(end) }
    }
}

/// The end of a call with everything that whoever asks again is answered with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The row.
    pub record: CallRecord,
    /// The outcome, as [`Outcome::to_text`]; `None` where the store keeps no evidence.
    pub outcome: Option<String>,
}

impl Settlement {
    /// The same with its outcome, and the hash of that.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &Outcome) -> Self {
        let text = outcome.to_text();
        self.record.end.output_hash = Some(Outcome::hash_of_text(&text));
        self.outcome = Some(text);
        self
    }

    /// The end of a call whose process died while it ran: unknown, or for one that changes nothing cancelled.
    #[must_use]
    pub fn of_crash(intent: Intent, now_ms: i64, epoch: u64) -> Self {
        let (error_type, text) = if intent.is_repeatable() {
            (ErrorType::Cancelled, INTERRUPTED)
        } else {
            (ErrorType::UnknownOutcome, CUT_OFF)
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
    /// The outcome, when it has ended.
    pub outcome: Option<Outcome>,
    /// Whether whoever runs it still works; `false` for one that has ended.
    pub is_worked_on: bool,
    /// Attempts before this one that a crash cut off, the oldest first, where the store keeps them.
    pub earlier: Vec<CutOff>,
}

/// An attempt that a crash cut off, of a call that changes nothing and so ran again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// Fencing number of whoever ran it.
    pub epoch: u64,
    /// Milliseconds since 1970.
    pub started_at: Option<i64>,
}

/// What a caller names a batch by, so that sending it twice runs it once. Keys belong to an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// The caller's own word, 1 to [`KEY_CHARS`] characters.
    pub key: String,
    /// SHA-256 of what was asked for: the same key for something else is refused.
    pub fingerprint: String,
}

/// A batch that was accepted: from here on each of its calls gets its one outcome, after a restart too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcceptedBatch {
    /// Its id.
    pub id: BatchId,
    /// What the caller names it by.
    pub key: Option<IdempotencyKey>,
    /// The calls, as they arrived.
    pub batch: Batch,
    /// Milliseconds since 1970.
    pub accepted_at: i64,
    /// Fencing number of whoever works on it.
    pub epoch: u64,
}

/// What a store says to a batch.
#[derive(Debug, Clone)]
pub enum Acceptance {
    /// It is stored.
    New,
    /// The same was accepted before under this key: this is the first one, whose calls count.
    Known {
        /// The first one.
        first: Box<AcceptedBatch>,
        /// Whether whoever accepted it still works on it.
        is_worked_on: bool,
    },
}

/// Whether an owner of calls still works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// It works; the words say who it is, such as `process 4711`.
    Alive(String),
    /// It has ended, or died.
    Gone,
    /// Nobody ever claimed this number.
    Unknown,
}

/// What those that died left behind, as [`CallStore::recover`] dealt with it.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// Calls that may have changed something: they ended as unknown.
    pub unknown: Vec<CallId>,
    /// Calls that change nothing and that nobody goes on with: they ended as cancelled.
    pub interrupted: Vec<CallId>,
    /// Accepted batches that are not done, if they were to be taken; they belong to whoever recovered them now.
    pub batches: Vec<AcceptedBatch>,
}

/// Calls and their outcomes.
pub trait CallStore: Send + Sync {
    /// Whether calls are recorded with arguments, hashes and results. Without, only their ends are counted.
    fn keeps_evidence(&self) -> bool {
        true
    }

    /// Begins to work on calls, until [`release`](Self::release) or the end of the process: a new number, larger than all before. Several
    /// may work at once; each writes only what is its own.
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Ends a claim; what is still open under it counts as left behind.
    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Whether the holder of a claim still works.
    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>>;

    /// Accepts a batch, durably. The same key for something else is a [`StoreError::Conflict`].
    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>>;

    /// Takes an accepted batch over from somebody who is gone; `false` = whoever has it still works, or somebody else was faster.
    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The accepted batch of a call, while that is not done: a call is known from its acceptance on, before it begins.
    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>>;

    /// Says that every call of a batch has its outcome or waits for a person. Its key stays known.
    fn done(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Records that a call starts. No intent record, no run. Durable when this returns, if the call may change something.
    ///
    /// A call that is there already is a [`StoreError::Conflict`], unless it is open, changes nothing, and whoever ran it is gone: then this
    /// is its next attempt. A claim that was taken over is [`StoreError::Fenced`].
    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Takes the record of a start back: the call waits for a person, and whoever goes on with it begins it anew. Only that of an open call that
    /// changes nothing by itself, begun under this claim; of any other nothing happens.
    fn put_aside(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Records the one outcome of a call; a second one is a [`StoreError::Conflict`]. A call that never started has no intent.
    ///
    /// The end of an open call is written by whoever began it: another epoch is [`StoreError::Fenced`], and another `started_at`, or none,
    /// is a [`StoreError::Conflict`]: the same call was sent twice, and this is not the one that runs.
    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A call.
    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>>;

    /// The outcome of a call, letter for letter as it is kept: what its recorded hash is of. Without an own form of it this is the text of
    /// the outcome as it is read.
    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let stored = self.call(call).await?;
            Ok(stored.and_then(|stored| stored.outcome).map(|outcome| outcome.to_text()))
        })
    }

    /// Calls that were started and have no outcome, oldest first.
    fn open(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>>;

    /// Deals with what others that are gone left open (DESIGN 4, Crash rule), in one transaction, for the holder of `epoch`: calls that may
    /// have changed something end as unknown; those that change nothing stay open for whoever goes on with their run or batch, and end as
    /// cancelled where there is neither.
    ///
    /// `take_batches` = accepted batches that are not done are taken over too, and returned: for whoever will finish them. Without, they stay
    /// with those that are gone, for somebody who does, and their calls that change nothing stay open all the same.
    fn recover(
        &self,
        epoch: u64,
        now_ms: i64,
        take_batches: bool,
    ) -> BoxFuture<'_, Result<Recovered, StoreError>>;
}
