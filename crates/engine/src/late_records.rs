//! Outcomes that the store could not record in time. The engine retries them during the lifetime of
//! this process; otherwise their calls would stay open that long.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;
use toolcrib_core::{Settlement, StoreError};

use crate::engine_inner::EngineInner;

/// Maximum number of waiting outcomes. Further ones are left to the recovery after this process
/// ends, which ends their calls as unknown.
const MAX_WAITING: usize = 1_000;
/// First and longest pause between two attempts.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Slots for waiting outcomes.
pub(crate) struct LateRecords {
    places: Arc<Semaphore>,
}

impl Default for LateRecords {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_WAITING)) }
    }
}

/// Retries the write of an outcome until the store records or refuses it. The store refuses it if
/// the seemingly failed commit took effect, or if another process has ended the call.
pub(crate) fn record_later(engine: &Arc<EngineInner>, settlement: Settlement) {
    let Ok(place) = Arc::clone(&engine.late_records.places).try_acquire_owned() else { return };
    let engine = Arc::downgrade(engine);
    tokio::spawn(async move {
        let _place = place;
        let mut pause = PAUSE.0;
        loop {
            tokio::time::sleep(pause).await;
            pause = PAUSE.1.min(pause * 2);
            if is_over(&engine, &settlement).await {
                return;
            }
        }
    });
}

async fn is_over(engine: &Weak<EngineInner>, settlement: &Settlement) -> bool {
    let Some(engine) = engine.upgrade() else { return true };
    !matches!(
        engine.calls.settle(settlement.clone()).await,
        Err(StoreError::Busy(_) | StoreError::Full(_) | StoreError::Failed(_))
    )
}
