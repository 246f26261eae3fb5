//! Cache of the stored switches, which every process with the same store can set. Before a call
//! starts, they are read again if the cached ones are too old.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use toolcrib_core::{StoreError, SwitchState, SwitchStore};

use crate::registry::Registry;
use crate::switches::{SwitchTarget, Switches};

/// Maximum age of the cached switches when a call starts. A stored switch is in force everywhere
/// after this time: the kill switch of daemons that share a store is confirmed after this time, and
/// within 100 ms, even in a busy process.
pub const SWITCH_CACHE_TTL: Duration = Duration::from_millis(50);

/// The store of switches, and the time when they were last read.
pub(crate) struct SwitchCache {
    store: Arc<dyn SwitchStore>,
    owner: String,
    /// Held from reading to applying, so that the latest read is applied last.
    reading: tokio::sync::Mutex<()>,
    start: Instant,
    /// Microseconds from the start to the beginning of the last successful read, plus one; 0 if
    /// there was none.
    read_at: AtomicU64,
    /// Notified when a call found the switches too old and read them.
    stale: Notify,
}

impl SwitchCache {
    pub(crate) fn new(store: Arc<dyn SwitchStore>, owner: String) -> Self {
        let (reading, read_at, stale) = Default::default();
        Self { store, owner, reading, start: Instant::now(), read_at, stale }
    }

    /// Applies the stored switches; returns whether any switch changed.
    ///
    /// # Errors
    /// The error of the store; then nothing is changed.
    pub(crate) async fn refresh(&self, registry: &Registry) -> Result<bool, StoreError> {
        let _one_at_a_time = self.reading.lock().await;
        self.read_alone(registry).await
    }

    /// Refreshes the switches if the cached ones are too old to start a call.
    pub(crate) async fn refresh_if_stale(&self, registry: &Registry) -> Result<(), StoreError> {
        if self.is_fresh() {
            return Ok(());
        }
        let _one_at_a_time = self.reading.lock().await;
        // Another task may have read them meanwhile.
        if !self.is_fresh() {
            // Also if the read fails: the notification only tells that calls start again.
            self.stale.notify_one();
            self.read_alone(registry).await?;
        }
        Ok(())
    }

    /// Resolves after a call found the switches too old; at once if one did since the last time.
    pub(crate) async fn found_stale(&self) {
        self.stale.notified().await;
    }

    fn is_fresh(&self) -> bool {
        let read_at = self.read_at.load(Ordering::Acquire);
        read_at > 0 && self.now() - read_at < SWITCH_CACHE_TTL.as_micros() as u64
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64 + 1
    }

    async fn read_alone(&self, registry: &Registry) -> Result<bool, StoreError> {
        // Switches set from here on may be missed.
        let begun = self.now();
        let rows = self.store.switches(&self.owner).await?;
        // Switches of a newer Toolcrib refer to items that do not exist in this version.
        let known =
            rows.iter().filter_map(|row| Some((SwitchTarget::parse(&row.name)?, row.state)));
        let known: Vec<(SwitchTarget, SwitchState)> = known.collect();
        let changed = registry.replace_switches(Switches::from_rows(&known));
        self.read_at.store(begun, Ordering::Release);
        Ok(changed)
    }
}
