//! Accepted batches: stored before they run, so that they survive a restart, and run at most once
//! per idempotency key.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::json;
use toolcrib_core::store::{ARGS_BYTES, KEY_CHARS};
use toolcrib_core::{
    Acceptance, AcceptedBatch, Answer, Batch, BatchId, CallId, ErrorType, IdempotencyKey, Outcome,
    OutcomeKind, RawArgs, SealError, StoreError, ToolError, canonical_json,
};

use crate::active_batches::SharedAnswers;
use crate::answer_without_call::answer_without_call;
use crate::engine_inner::EngineInner;
use crate::invoke;
use crate::resume::environment;

/// The entry of a batch in the table of running batches, released when the work ends for any
/// reason.
struct ActiveBatchGuard {
    engine: Arc<EngineInner>,
    batch: BatchId,
}

impl Drop for ActiveBatchGuard {
    fn drop(&mut self) {
        self.engine.active_batches.lock().remove(&self.batch);
    }
}

/// An accepted batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub batch: BatchId,
    /// Its calls, in order.
    pub calls: Vec<CallId>,
    /// Whether it was already accepted under this key.
    pub is_known: bool,
}

/// Why a batch was not accepted. None of its calls runs.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum SubmitError {
    /// The key is empty or too long.
    #[error("an idempotency key has 1 to {KEY_CHARS} characters")]
    BadKey,
    /// The key contains a known secret; keys are stored and shown unmasked.
    #[error(
        "the idempotency key holds a known secret, and keys are stored and shown unmasked; use a key without it"
    )]
    SecretKey,
    /// The key was used for a different request (HTTP 409).
    #[error(
        "the idempotency key \"{0}\" was used before for other calls; use a new key for new calls"
    )]
    KeyReused(String),
    /// The batch is accepted and has no answers here: another process runs it, or the store could
    /// not record that a call starts. It may still run.
    #[error(
        "the calls of the idempotency key \"{0}\" are accepted and have not ended; they may run in another process or as soon as the store works; ask again later under the same key"
    )]
    RunningElsewhere(String),
    /// The batch was accepted in another environment, and its process has ended: only a process of
    /// that environment runs it.
    #[error(
        "the calls of the idempotency key \"{0}\" were accepted by a process with another workspace, policy or tools, which has ended; start a daemon with those settings to run them, or use a new key"
    )]
    OtherEnvironment(String),
    /// The store failed. A commit that reported a failure may still have taken effect.
    #[error(
        "the calls could not be stored ({0}). None of them was run now, but they may have been accepted: ask again under the same idempotency key, or check the history, before you send them as new calls"
    )]
    Store(StoreError),
}

impl SubmitError {
    /// Returns the error type, for surfaces that report the failure as the end of a call.
    #[must_use]
    pub fn error_type(&self) -> ErrorType {
        match self {
            Self::BadKey | Self::SecretKey | Self::KeyReused(_) => ErrorType::ValidationError,
            Self::RunningElsewhere(_) => ErrorType::UnknownOutcome,
            Self::OtherEnvironment(_) => ErrorType::NotConfigured,
            Self::Store(_) => ErrorType::StoreFailed,
        }
    }
}

/// The store's reply to a batch, and who runs it.
struct BatchAcceptance {
    /// The batch that applies: the first one accepted under the key.
    first: AcceptedBatch,
    is_known: bool,
    /// Whether this process runs the batch.
    is_local: bool,
}

impl BatchAcceptance {
    fn submitted(&self) -> Submitted {
        let calls = self.first.batch.calls.iter().map(|call| call.id).collect();
        Submitted { batch: self.first.id, calls, is_known: self.is_known }
    }
}

/// Accepts a batch and runs it in a background task.
pub(crate) async fn submit(
    engine: &Arc<EngineInner>,
    batch: Batch,
    key: Option<&str>,
) -> Result<Submitted, SubmitError> {
    let accepted = accept(engine, batch, key).await?;
    let submitted = accepted.submitted();
    if accepted.is_local {
        let _goes_on_alone = start(engine, accepted.first);
    }
    Ok(submitted)
}

/// Accepts a batch, reports the acceptance before any call runs, and then returns the answers.
pub(crate) async fn accept_once(
    engine: &Arc<EngineInner>,
    batch: Batch,
    key: &str,
    told: impl FnOnce(&Submitted) + Send,
) -> Result<Vec<Answer>, SubmitError> {
    let accepted = accept(engine, batch.clone(), Some(key)).await?;
    told(&accepted.submitted());
    match answers(engine, accepted, key).await? {
        Some(answers) => Ok(answers),
        None => invoke_once(engine, batch, key).await,
    }
}

/// Runs a batch at most once and returns the same answers to every caller with its key.
pub(crate) async fn invoke_once(
    engine: &Arc<EngineInner>,
    batch: Batch,
    key: &str,
) -> Result<Vec<Answer>, SubmitError> {
    loop {
        let accepted = accept(engine, batch.clone(), Some(key)).await?;
        if let Some(answers) = answers(engine, accepted, key).await? {
            return Ok(answers);
        }
    }
}

/// Returns the answers of an accepted batch. `None` if another process took the batch over because
/// this process was paused beyond its lease; the current owner of the claim then answers.
async fn answers(
    engine: &Arc<EngineInner>,
    BatchAcceptance { first, is_local: is_ours, .. }: BatchAcceptance,
    key: &str,
) -> Result<Option<Vec<Answer>>, SubmitError> {
    if !is_ours && !is_done(engine, &first).await.map_err(SubmitError::Store)? {
        return Err(SubmitError::RunningElsewhere(key.to_owned()));
    }
    let epoch = engine.epoch();
    let answers = start(engine, first).await;
    if engine.epoch() != epoch {
        return Ok(None);
    }
    for answer in answers.iter() {
        if may_still_run(engine, answer).await {
            return Err(SubmitError::RunningElsewhere(key.to_owned()));
        }
    }
    Ok(Some(answers.to_vec()))
}

/// Returns whether an answer is not the end of its call: no outcome is recorded, so this batch may
/// still run the call, here or in another process. An answer under a key is final.
async fn may_still_run(engine: &EngineInner, answer: &Answer) -> bool {
    let is_open = |outcome: &&Outcome| {
        let did_not_run = outcome.error_type() == Some(ErrorType::StoreFailed);
        outcome.unrecorded.is_none() && (outcome.kind == OutcomeKind::Unknown || did_not_run)
    };
    let Some(outcome) = answer.outcome().filter(is_open) else { return false };
    let there = engine.calls.call(outcome.call).await;
    engine.calls.keeps_details()
        && !there.is_ok_and(|call| call.is_some_and(|call| call.row.end.is_some()))
}

/// Continues a batch that was taken over.
pub(crate) async fn finish(engine: &Arc<EngineInner>, batch: AcceptedBatch) -> Vec<Answer> {
    start(engine, batch).await.to_vec()
}

/// Stores a batch, or finds the first one of its key and takes it over if its process has ended.
async fn accept(
    engine: &Arc<EngineInner>,
    batch: Batch,
    key: Option<&str>,
) -> Result<BatchAcceptance, SubmitError> {
    let key = key.map(|key| idempotency_key(engine, &batch, key)).transpose()?;
    let name = key.as_ref().map(|key| key.key.clone()).unwrap_or_default();
    let (id, accepted_at) = (BatchId::fresh(), engine.clock.now_ms());
    let unsealed = |error: SealError| SubmitError::Store(StoreError::Failed(error.to_string()));
    let kept = engine.sealing().seal_batch(&batch).map_err(unsealed)?;
    let kept = Batch { environment: engine.environment.clone(), ..kept };
    let accept = |epoch| {
        let (key, batch) = (key.clone(), kept.clone());
        let accepted = AcceptedBatch { id, key, batch, accepted_at, epoch };
        async move { Ok((engine.calls.accept(accepted.clone()).await?, accepted)) }
    };
    let (answer, accepted) = engine.under_claim(accept).await.map_err(|error| match error {
        StoreError::Conflict(_) => SubmitError::KeyReused(name),
        error => SubmitError::Store(error),
    })?;
    crate::failpoint::hit("accept");
    match answer {
        Acceptance::New => Ok(BatchAcceptance { first: accepted, is_known: false, is_local: true }),
        Acceptance::Known { first, is_owner_alive: is_worked_on } => {
            let is_ours = if is_worked_on {
                first.epoch == accepted.epoch
            } else if !environment::is_own(engine, &first.batch) {
                let key = first.key.map(|key| key.key).unwrap_or_default();
                return Err(SubmitError::OtherEnvironment(key));
            } else {
                // Of several processes that find the abandoned batch, one takes it over.
                let take = |epoch| engine.calls.take_batch(first.id, epoch);
                engine.under_claim(take).await.map_err(SubmitError::Store)?
            };
            Ok(BatchAcceptance { first: *first, is_known: true, is_local: is_ours })
        }
    }
}

/// Returns whether each call has its outcome or waits for a person, in any process.
async fn is_done(engine: &EngineInner, batch: &AcceptedBatch) -> Result<bool, StoreError> {
    for call in &batch.batch.calls {
        if has_ended(engine, call.id).await? {
            continue;
        }
        if !matches!(engine.approvals.for_call(call.id).await?, Some((_, None))) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn idempotency_key(
    engine: &EngineInner,
    batch: &Batch,
    key: &str,
) -> Result<IdempotencyKey, SubmitError> {
    let chars = key.chars().count();
    if key.trim().is_empty() || chars > KEY_CHARS {
        return Err(SubmitError::BadKey);
    }
    if engine.sealing().secrets.occurs_in(key) {
        return Err(SubmitError::SecretKey);
    }
    Ok(IdempotencyKey { key: key.to_owned(), fingerprint: fingerprint(batch) })
}

/// Returns the fingerprint of a request: names and arguments of the calls, and their owner. Ids are
/// excluded because they are new each time.
fn fingerprint(batch: &Batch) -> String {
    let calls: Vec<_> =
        batch.calls.iter().map(|call| json!([call.name, args(&call.args)])).collect();
    let context = &batch.context;
    let mut asked =
        vec![json!(calls), json!(batch.origin), json!(context.agent), json!(context.workspace)];
    // An empty conversation is omitted, so that keys of versions without conversations keep their
    // fingerprint.
    if !context.conversation.is_empty() {
        asked.push(json!(context.conversation));
    }
    canonical_json::sha256(&json!(asked))
}

/// Returns the same value for arguments given as text and as a value.
fn args(args: &RawArgs) -> serde_json::Value {
    match args {
        RawArgs::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        RawArgs::Value(value) => value.clone(),
        RawArgs::Broken(why) => json!({"broken": why}),
        RawArgs::Sealed(sealed) => json!({"sealed": sealed}),
    }
}

/// Starts a batch in a separate task, so that it continues when the caller disconnects. If the
/// batch already runs in this process, this waits for the same answers.
fn start(engine: &Arc<EngineInner>, accepted: AcceptedBatch) -> SharedAnswers {
    let mut at_work = engine.active_batches.lock();
    let answers = at_work.entry(accepted.id).or_insert_with(|| {
        let answers = run_accepted(Arc::clone(engine), accepted).boxed().shared();
        tokio::spawn(answers.clone());
        answers
    });
    answers.clone()
}

/// Runs an accepted batch. Recorded calls are always looked up first: another process may have sent
/// the same batch a moment later and already run it.
async fn run_accepted(engine: Arc<EngineInner>, accepted: AcceptedBatch) -> Arc<[Answer]> {
    let _place = ActiveBatchGuard { engine: Arc::clone(&engine), batch: accepted.id };
    if !environment::is_own(&engine, &accepted.batch) {
        let why = format!("Not run here: {}.", environment::other_environment(&accepted.batch));
        let leave = |call| {
            answer_without_call(call, ToolError::new(ErrorType::UnknownOutcome, why.clone()))
        };
        return accepted.batch.calls.into_iter().map(leave).collect();
    }
    loop {
        let epoch = engine.epoch();
        let batch = Batch { is_replay: true, ..accepted.batch.clone() };
        let answers = invoke::run(Arc::clone(&engine), batch, None, None).await;
        // A call that could not be recorded, or runs elsewhere, keeps its batch open for recovery
        // after a crash.
        if is_done(&engine, &accepted).await == Ok(true) {
            // If this write fails, recovery only checks the batch once more after a restart.
            let _ = engine.calls.finish_batch(accepted.id).await;
            shorten(&engine, accepted).await;
            return answers.into();
        }
        // Another process may have considered this one dead meanwhile. Work of that time is not
        // recorded and is checked again.
        let was_taken_for_dead = epoch > 0 && engine.epoch() != epoch;
        if !was_taken_for_dead || !is_ours(&engine, &accepted).await.unwrap_or(false) {
            return answers.into();
        }
    }
}

/// Above this many bytes of arguments, a finished batch is stored without those of its ended calls:
/// the limit for arguments stored with a call.
const LONG_ARGS: usize = ARGS_BYTES;

/// Removes long arguments of ended calls from the store. Their outcomes answer every request that
/// repeats the key. A shortened call that is run anyway fails, because its arguments are marked as
/// broken.
async fn shorten(engine: &EngineInner, mut accepted: AcceptedBatch) {
    let mut is_shorter = false;
    for call in &mut accepted.batch.calls {
        if bytes_of(&call.args) > LONG_ARGS && has_ended(engine, call.id).await == Ok(true) {
            call.args =
                RawArgs::Broken("the call has ended, and its arguments are not kept".into());
            is_shorter = true;
        }
    }
    if is_shorter {
        // If this fails, the arguments stay in the store.
        let _ = engine.calls.shorten_batch(accepted).await;
    }
}

fn bytes_of(args: &RawArgs) -> usize {
    match args {
        RawArgs::Text(text) | RawArgs::Broken(text) | RawArgs::Sealed(text) => text.len(),
        RawArgs::Value(value) => canonical_json::to_string(value).len(),
    }
}

async fn has_ended(engine: &EngineInner, call: CallId) -> Result<bool, StoreError> {
    Ok(engine.calls.call(call).await?.is_some_and(|stored| stored.row.end.is_some()))
}

/// Returns whether this process must finish the batch under its current claim.
async fn is_ours(engine: &EngineInner, batch: &AcceptedBatch) -> Result<bool, StoreError> {
    if engine.under_claim(|epoch| engine.calls.take_batch(batch.id, epoch)).await? {
        return Ok(true);
    }
    let Some(call) = batch.batch.calls.first() else { return Ok(false) };
    let there = engine.calls.batch_of(call.id).await?;
    Ok(there.is_some_and(|there| there.id == batch.id && there.epoch == engine.epoch()))
}
