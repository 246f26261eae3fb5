//! Idempotency keys of runs: the same request under the same key is one run, whoever is first, in whichever process.
//!
//! A key is kept as an accepted batch without calls (`CallStore::accept`): the store lets one of several win, keeps what was asked for by
//! its hash, and says whether whoever won still works. The batch names the run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use toolcrib_app::SubmitError;
use toolcrib_app::core::store::{Acceptance, AcceptedBatch, IdempotencyKey};
use toolcrib_app::core::{
    Batch, BatchId, Clock as _, Context, Origin, RunId, StoreError, SystemClock,
};

use crate::daemon::Daemon;
use crate::problem::{Code, Problem};

/// Keys of runs and keys of calls are kept together and do not meet. What it adds to a key is not the caller's, and not counted.
const PREFIX: &str = "run:";
/// Looks at a run that another process is just beginning, and the time between two.
const LOOKS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(20);

/// Held by the request that claims a key.
type Turn = tokio::sync::Mutex<()>;

/// Keys, with their owners, that are being claimed in this process: one request at a time.
#[derive(Default)]
pub(super) struct Keys(Mutex<HashMap<(String, String), Weak<Turn>>>);

impl Keys {
    fn lock(&self, owner: &str, key: &str) -> Arc<Turn> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, lock| lock.strong_count() > 0);
        let name = (owner.to_owned(), key.to_owned());
        if let Some(lock) = keys.get(&name).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        keys.insert(name, Arc::downgrade(&lock));
        lock
    }
}

/// A key with the run that it names.
pub(super) struct Claim {
    daemon: Daemon,
    batch: AcceptedBatch,
    is_begun: bool,
    /// Held until the run is stored, so that the next request of this process finds it.
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl Claim {
    pub(super) fn run(&self) -> RunId {
        // Every batch of ours names one.
        self.batch.batch.run.unwrap_or_else(RunId::fresh)
    }

    /// Whether the run was begun before.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The run is stored: there is nothing to go on with under this key.
    pub(super) async fn done(self) {
        // Not written, it is only looked through once more after a restart.
        let _ = self.daemon.stores().calls.done(self.batch.id).await;
    }
}

/// Claims a key of an owner for a new run, or finds the run that it names.
pub(super) async fn claim(
    daemon: &Daemon,
    owner: &str,
    key: &str,
    fingerprint: String,
) -> Result<Claim, Problem> {
    if daemon.toolcrib().engine().sealing().secrets.is_in(key) {
        return Err(SubmitError::SecretKey.into());
    }
    let turn = daemon.live().keys.lock(owner, key).lock_owned().await;
    let engine = daemon.toolcrib().engine();
    let context = Arc::new(Context { owner: owner.to_owned(), ..Context::default() });
    let batch =
        Batch { run: Some(RunId::fresh()), context, ..Batch::new(Origin::Rest, Vec::new()) };
    let key = IdempotencyKey { key: format!("{PREFIX}{key}"), fingerprint };
    let (id, accepted_at) = (BatchId::fresh(), SystemClock.now_ms());
    let accept = |epoch| {
        let (key, batch) = (Some(key.clone()), batch.clone());
        let mine = AcceptedBatch { id, key, batch, accepted_at, epoch };
        async move { Ok((daemon.stores().calls.accept(mine.clone()).await?, mine)) }
    };
    let (accepted, mine) = engine.under_claim(accept).await.map_err(|error| match error {
        StoreError::Conflict(_) => Problem::conflict(
            "this Idempotency-Key was used for another request; use a new one for each request",
        ),
        error => error.into(),
    })?;
    let Acceptance::Known { first, is_worked_on } = accepted else {
        return Ok(Claim { daemon: daemon.clone(), batch: mine, is_begun: false, _turn: turn });
    };
    let mut claim = Claim { daemon: daemon.clone(), batch: *first, is_begun: true, _turn: turn };
    if is_stored(daemon, claim.run()).await? {
        return Ok(claim);
    }
    // It was never begun: its request failed, or its process died before the run was stored.
    let is_ours = if is_worked_on {
        claim.batch.epoch == mine.epoch
    } else {
        let batch = claim.batch.id;
        engine.under_claim(|epoch| daemon.stores().calls.take_batch(batch, epoch)).await?
    };
    if is_ours {
        claim.is_begun = false;
        return Ok(claim);
    }
    for _ in 0..LOOKS {
        tokio::time::sleep(BETWEEN).await;
        if is_stored(daemon, claim.run()).await? {
            return Ok(claim);
        }
    }
    let words = "another daemon is just beginning this run; send the same request again";
    Err(Problem::new(Code::Unavailable, words).retry_after(1))
}

async fn is_stored(daemon: &Daemon, run: RunId) -> Result<bool, StoreError> {
    Ok(daemon.stores().runs.run(run).await?.is_some())
}
