//! Batches that are accepted before they run: stored first, so that they survive a restart, and under a key at most once.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::json;
use toolcrib_core::store::{ARGS_BYTES, KEY_CHARS};
use toolcrib_core::{
    Acceptance, AcceptedBatch, Answer, Batch, BatchId, CallId, IdempotencyKey, OutcomeKind,
    RawArgs, SealError, StoreError, canonical_json,
};

use crate::active_batches::SharedAnswers;
use crate::engine_inner::EngineInner;
use crate::invoke;

/// The place of a batch among those at work; it is given up when the work ends, however it ends.
struct ActiveBatchGuard {
    engine: Arc<EngineInner>,
    batch: BatchId,
}

impl Drop for ActiveBatchGuard {
    fn drop(&mut self) {
        self.engine.active_batches.lock().remove(&self.batch);
    }
}

/// A batch that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub batch: BatchId,
    /// Its calls, in order.
    pub calls: Vec<CallId>,
    /// Whether it was accepted before under this key.
    pub is_known: bool,
}

/// Why a batch was not accepted. Nothing of it runs.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum SubmitError {
    /// The key is empty or too long.
    #[error("an idempotency key has 1 to {KEY_CHARS} characters")]
    BadKey,
    /// A known secret is in the key, which is stored and shown as it is.
    #[error(
        "the idempotency key holds a known secret, and keys are stored and shown as they are; use a key without it"
    )]
    SecretKey,
    /// The key was used for something else (HTTP 409).
    #[error(
        "the idempotency key \"{0}\" was used before for other calls; use a new key for new calls"
    )]
    KeyReused(String),
    /// The same batch is at work in another process, which has its answers.
    #[error(
        "the calls of the idempotency key \"{0}\" are running in another process; ask again later"
    )]
    RunningElsewhere(String),
    /// The store failed.
    #[error("the calls could not be stored, so none of them was run: {0}")]
    Store(StoreError),
}

/// What the store says to a batch, and what follows.
struct BatchAcceptance {
    /// The batch that counts: the first of its key.
    first: AcceptedBatch,
    is_known: bool,
    /// Whether its work is this process's to do.
    is_local: bool,
}

impl BatchAcceptance {
    fn submitted(&self) -> Submitted {
        let calls = self.first.batch.calls.iter().map(|call| call.id).collect();
        Submitted { batch: self.first.id, calls, is_known: self.is_known }
    }
}

/// Accepts a batch; its work goes on beside.
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

/// Accepts a batch, says what it is, and then gives its answers: that it is accepted is known before it has run.
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

/// Runs a batch at most once, and gives everybody who asks for it the same answers.
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

/// The answers of a batch that was accepted. `None` = it was taken over meanwhile, because this process stood still beyond its lease: the
/// answers are with whoever has it now.
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
        if is_still_running(engine, answer).await {
            return Err(SubmitError::RunningElsewhere(key.to_owned()));
        }
    }
    Ok(Some(answers.to_vec()))
}

/// Whether a call is only unknown here, because it goes on in another task or process: it was decided about there.
async fn is_still_running(engine: &EngineInner, answer: &Answer) -> bool {
    let Some(outcome) = answer.outcome().filter(|outcome| outcome.kind == OutcomeKind::Unknown)
    else {
        return false;
    };
    let there = engine.calls.call(outcome.call).await;
    there.is_ok_and(|call| call.is_none_or(|call| call.row.end.is_none()))
}

/// Goes on with a batch that was taken over.
pub(crate) async fn finish(engine: &Arc<EngineInner>, batch: AcceptedBatch) -> Vec<Answer> {
    start(engine, batch).await.to_vec()
}

/// Stores a batch, or finds the first one of its key. One whose process is gone is taken over.
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
            } else {
                // Of several that find it left behind, one takes it.
                let take = |epoch| engine.calls.take_batch(first.id, epoch);
                engine.under_claim(take).await.map_err(SubmitError::Store)?
            };
            Ok(BatchAcceptance { first: *first, is_known: true, is_local: is_ours })
        }
    }
}

/// Whether each call has its outcome or waits for a person, whoever ran it.
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

/// What was asked for: names and arguments of the calls, and whose they are. Ids are new each time.
fn fingerprint(batch: &Batch) -> String {
    let calls: Vec<_> =
        batch.calls.iter().map(|call| json!([call.name, args(&call.args)])).collect();
    let context = &batch.context;
    canonical_json::sha256(&json!([calls, batch.origin, context.agent, context.workspace]))
}

/// Text and value of the same arguments are the same.
fn args(args: &RawArgs) -> serde_json::Value {
    match args {
        RawArgs::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        RawArgs::Value(value) => value.clone(),
        RawArgs::Broken(why) => json!({"broken": why}),
        RawArgs::Sealed(sealed) => json!({"sealed": sealed}),
    }
}

/// Begins the work of a batch, on a task of its own, so that it goes on when whoever asked goes away. If it is at work here, this waits for
/// the same answers.
fn start(engine: &Arc<EngineInner>, accepted: AcceptedBatch) -> SharedAnswers {
    let mut at_work = engine.active_batches.lock();
    let answers = at_work.entry(accepted.id).or_insert_with(|| {
        let answers = run_accepted(Arc::clone(engine), accepted).boxed().shared();
        tokio::spawn(answers.clone());
        answers
    });
    answers.clone()
}

/// Runs an accepted batch. What is recorded of its calls is always looked up first: whoever stored it may find that somebody who sent the
/// same a moment later has already done it.
async fn run_accepted(engine: Arc<EngineInner>, accepted: AcceptedBatch) -> Arc<[Answer]> {
    let _place = ActiveBatchGuard { engine: Arc::clone(&engine), batch: accepted.id };
    loop {
        let epoch = engine.epoch();
        let batch = Batch { is_replay: true, ..accepted.batch.clone() };
        let answers = invoke::run(Arc::clone(&engine), batch, None, None).await;
        // A call that could not be recorded, or runs elsewhere, keeps its batch open for whoever comes after a crash.
        if is_done(&engine, &accepted).await == Ok(true) {
            // Not written, it is only looked through once more after a restart.
            let _ = engine.calls.finish_batch(accepted.id).await;
            shorten(&engine, accepted).await;
            return answers.into();
        }
        // This process may have been taken for dead meanwhile; what it did then is not recorded, and is looked at anew.
        let was_taken_for_dead = epoch > 0 && engine.epoch() != epoch;
        if !was_taken_for_dead || !is_ours(&engine, &accepted).await.unwrap_or(false) {
            return answers.into();
        }
    }
}

/// Bytes of arguments from which on a finished batch is stored without those of its ended calls: as
/// many as are stored with a call.
const LONG_ARGS: usize = ARGS_BYTES;

/// Removes long arguments of ended calls from the store. Their outcomes answer everyone who sends
/// the key again; one that is run anyway fails, because its arguments are marked as broken.
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
        // If it fails, they are stored for longer.
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

/// Whether a batch is this process's to finish, under the claim that it has now.
async fn is_ours(engine: &EngineInner, batch: &AcceptedBatch) -> Result<bool, StoreError> {
    if engine.under_claim(|epoch| engine.calls.take_batch(batch.id, epoch)).await? {
        return Ok(true);
    }
    let Some(call) = batch.batch.calls.first() else { return Ok(false) };
    let there = engine.calls.batch_of(call.id).await?;
    Ok(there.is_some_and(|there| there.id == batch.id && there.epoch == engine.epoch()))
}
