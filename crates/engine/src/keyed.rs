//! Batches that are accepted before they run: stored first, so that they survive a restart, and under a key at most once.

use std::collections::HashMap;
use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use serde_json::json;
use toolcrib_core::store::KEY_CHARS;
use toolcrib_core::{
    Acceptance, AcceptedBatch, Answer, Batch, BatchId, CallId, IdempotencyKey, RawArgs, StoreError,
    canonical,
};

use crate::batch;
use crate::engine::Inner;

/// Answers that several wait for.
type Answers = Shared<BoxFuture<'static, Arc<[Answer]>>>;

/// Batches that are at work in this process.
#[derive(Default)]
pub(crate) struct Keyed {
    at_work: Mutex<HashMap<BatchId, Answers>>,
}

impl Keyed {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<BatchId, Answers>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The key was used for something else (HTTP 409).
    #[error(
        "the idempotency key \"{0}\" was used before for other calls; use a new key for new calls"
    )]
    KeyReused(String),
    /// The same batch is at work in another process, which has its answers.
    #[error("the calls of the idempotency key \"{0}\" are running in another process; ask again later")]
    AtWork(String),
    /// The store failed.
    #[error("the calls could not be stored, so none of them was run: {0}")]
    Store(StoreError),
}

/// Accepts a batch; its work goes on beside.
pub(crate) async fn submit(
    engine: &Arc<Inner>,
    batch: Batch,
    key: Option<&str>,
) -> Result<Submitted, SubmitError> {
    let (accepted, is_known) = accept(engine, batch, key).await?;
    let calls = accepted.batch.calls.iter().map(|call| call.id).collect();
    let submitted = Submitted { batch: accepted.id, calls, is_known };
    if !is_known {
        tokio::spawn(begin(engine, accepted, false));
    }
    Ok(submitted)
}

/// Runs a batch at most once, and gives everybody who asks for it the same answers.
pub(crate) async fn invoke_once(
    engine: &Arc<Inner>,
    batch: Batch,
    key: &str,
) -> Result<Vec<Answer>, SubmitError> {
    let (accepted, is_known) = accept(engine, batch, Some(key)).await?;
    let at_work = engine.keyed.lock().get(&accepted.id).cloned();
    if let Some(answers) = at_work {
        return Ok(answers.await.to_vec());
    }
    // On a task of its own: it goes on when whoever asked goes away.
    let answers = begin(engine, accepted, is_known);
    tokio::spawn(answers.clone());
    Ok(answers.await.to_vec())
}

/// Stores a batch; or the first one of this key, and whether that is known. One whose process is gone is taken over.
async fn accept(
    engine: &Arc<Inner>,
    batch: Batch,
    key: Option<&str>,
) -> Result<(AcceptedBatch, bool), SubmitError> {
    let key = key.map(|key| keyed(&batch, key)).transpose()?;
    let name = key.as_ref().map(|key| key.key.clone()).unwrap_or_default();
    let epoch = engine.epoch();
    let accepted =
        AcceptedBatch { id: BatchId::fresh(), key, batch, accepted_at: engine.clock.now_ms(), epoch };
    let answer = engine.calls.accept(accepted.clone()).await.map_err(|error| match error {
        StoreError::Conflict(_) => SubmitError::KeyReused(name.clone()),
        error => SubmitError::Store(error),
    })?;
    crate::failpoint::hit("accept");
    let (mut first, is_worked_on) = match answer {
        Acceptance::New => return Ok((accepted, false)),
        Acceptance::Known { first, is_worked_on } => (*first, is_worked_on),
    };
    if is_worked_on && first.epoch != epoch && !is_done(engine, &first).await? {
        return Err(SubmitError::AtWork(name));
    }
    if !is_worked_on {
        // Whoever is slower finds the answers of the faster one.
        engine.calls.take_batch(first.id, epoch).await.map_err(SubmitError::Store)?;
        first.epoch = epoch;
    }
    Ok((first, true))
}

/// Whether each call has its outcome or waits for a person, whoever ran it.
async fn is_done(engine: &Inner, first: &AcceptedBatch) -> Result<bool, SubmitError> {
    for call in &first.batch.calls {
        let stored = engine.calls.call(call.id).await.map_err(SubmitError::Store)?;
        let asked = engine.approvals.of_call(call.id).await.map_err(SubmitError::Store)?;
        if stored.is_none_or(|stored| stored.row.end.is_none()) && asked.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn keyed(batch: &Batch, key: &str) -> Result<IdempotencyKey, SubmitError> {
    let chars = key.chars().count();
    if key.trim().is_empty() || chars > KEY_CHARS {
        return Err(SubmitError::BadKey);
    }
    Ok(IdempotencyKey { key: key.to_owned(), fingerprint: fingerprint(batch) })
}

/// What was asked for: names and arguments of the calls, and whose they are. Ids are new each time.
fn fingerprint(batch: &Batch) -> String {
    let calls: Vec<_> = batch.calls.iter().map(|call| json!([call.name, args(&call.args)])).collect();
    let context = &batch.context;
    canonical::sha256(&json!([calls, batch.origin, context.agent, context.workspace]))
}

/// Text and value of the same arguments are the same.
fn args(args: &RawArgs) -> serde_json::Value {
    match args {
        RawArgs::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        RawArgs::Value(value) => value.clone(),
        RawArgs::Broken(why) => json!({"broken": why}),
    }
}

/// The work of a batch, which everybody who asks for it waits for.
fn begin(engine: &Arc<Inner>, accepted: AcceptedBatch, again: bool) -> Answers {
    let mut at_work = engine.keyed.lock();
    let id = accepted.id;
    let engine_of_work = Arc::clone(engine);
    at_work
        .entry(id)
        .or_insert_with(|| {
            async move {
                let answers = work(Arc::clone(&engine_of_work), accepted, again).await;
                engine_of_work.keyed.lock().remove(&id);
                answers.into()
            }
            .boxed()
            .shared()
        })
        .clone()
        .into_future()
}

/// Runs an accepted batch; `again` = some of its calls may have run before.
pub(crate) async fn work(engine: Arc<Inner>, accepted: AcceptedBatch, again: bool) -> Vec<Answer> {
    let batch = Batch { again, ..accepted.batch };
    let answers = batch::run(Arc::clone(&engine), batch, None).await;
    // Not written, it is only looked through once more after a restart.
    let _ = engine.calls.done(accepted.id).await;
    answers
}
