//! Idempotency keys of runs: a repeated request with the same key gets the same run, in every
//! process.
//!
//! A key is stored as an accepted batch without calls (`CallStore::accept`): the store lets one of
//! several processes win, stores the hash of the request, and records whether the winner is alive.
//! The batch names the run.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_app::SubmitError;
use toolcrib_core::store::{Acceptance, AcceptedBatch, IdempotencyKey};
use toolcrib_core::{Batch, BatchId, Clock as _, Context, Origin, RunId, StoreError, SystemClock};

use super::error::RunError;
use super::supervisor::RunSupervisor;

/// Separates keys of runs from keys of calls, which are in the same table. It does not count
/// towards the maximum length of a key.
const PREFIX: &str = "run:";
/// Number of polls for a run that another process starts, and the interval. The store does not
/// notify other processes of new rows.
const START_POLLS: u32 = 100;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A key and its run.
pub(super) struct ClaimedKey {
    supervisor: RunSupervisor,
    batch: AcceptedBatch,
    is_started: bool,
    /// Held until the run is stored, so that the next request of this process finds it.
    _lock: tokio::sync::OwnedMutexGuard<()>,
}

impl ClaimedKey {
    /// Returns the run of the key.
    pub(super) fn run(&self) -> RunId {
        // Every batch of this file names a run.
        self.batch.batch.run.unwrap_or_else(RunId::fresh)
    }

    /// Returns whether an earlier request started the run.
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Marks the run as stored: recovery then ignores this key.
    pub(super) async fn done(self) {
        // If this fails, the batch is only examined once more after a restart.
        let _ = self.supervisor.stores().calls.finish_batch(self.batch.id).await;
    }
}

/// Claims a key of an owner for a new run, or finds the run of the key.
pub(super) async fn claim(
    supervisor: &RunSupervisor,
    owner: &str,
    key: &str,
    fingerprint: String,
) -> Result<ClaimedKey, RunError> {
    let engine = supervisor.toolcrib().engine();
    if engine.sealing().secrets.occurs_in(key) {
        return Err(RunError::InvalidKey(SubmitError::SecretKey));
    }
    let lock = supervisor.key_locks().lock(owner, key).lock_owned().await;
    let calls = &supervisor.stores().calls;
    let context = Arc::new(Context { owner: owner.to_owned(), ..Context::default() });
    let batch =
        Batch { run: Some(RunId::fresh()), context, ..Batch::new(Origin::Rest, Vec::new()) };
    let key = IdempotencyKey { key: format!("{PREFIX}{key}"), fingerprint };
    let (id, accepted_at) = (BatchId::fresh(), SystemClock.now_ms());
    let accept = |epoch| {
        let (key, batch) = (Some(key.clone()), batch.clone());
        let own = AcceptedBatch { id, key, batch, accepted_at, epoch };
        async move { Ok((calls.accept(own.clone()).await?, own)) }
    };
    let (accepted, own) = engine.under_claim(accept).await.map_err(|error| match error {
        StoreError::Conflict(_) => RunError::KeyReused,
        error => error.into(),
    })?;
    let claimed = |batch, is_started| ClaimedKey {
        supervisor: supervisor.clone(),
        batch,
        is_started,
        _lock: lock,
    };
    let Acceptance::Known { first, is_owner_alive } = accepted else {
        return Ok(claimed(own, false));
    };
    let epoch = first.epoch;
    let mut claim = claimed(*first, true);
    if is_stored(supervisor, claim.run()).await? {
        return Ok(claim);
    }
    // The run was never started: its request failed, or its process died before it stored the run.
    let is_own = if is_owner_alive {
        epoch == own.epoch
    } else {
        let batch = claim.batch.id;
        engine.under_claim(|epoch| calls.take_batch(batch, epoch)).await?
    };
    if is_own {
        claim.is_started = false;
        return Ok(claim);
    }
    for _ in 0..START_POLLS {
        tokio::time::sleep(POLL_INTERVAL).await;
        if is_stored(supervisor, claim.run()).await? {
            return Ok(claim);
        }
    }
    Err(RunError::StartingElsewhere)
}

async fn is_stored(supervisor: &RunSupervisor, run: RunId) -> Result<bool, StoreError> {
    Ok(supervisor.stores().runs.run(run).await?.is_some())
}
