//! The switches as they are stored, where every process that works on the same store sets them:
//! read again before a call starts on what was read too long ago.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use toolcrib_core::{StoreError, SwitchState, SwitchStore};

use crate::registry::Registry;
use crate::switches::{SwitchTarget, Switches};

/// How old what is known of the switches may be where a call starts. A switch is in force
/// everywhere once this time is over after it was stored: the kill switch of daemons that share a
/// store is answered after this time, and within 100 ms, also in a busy process.
pub const SWITCH_CACHE_TTL: Duration = Duration::from_millis(50);

/// Where switches are stored, and when they were read last.
pub(crate) struct SwitchCache {
    store: Arc<dyn SwitchStore>,
    owner: String,
    /// Held from reading to putting into force, so that what was read later is in force last.
    reading: tokio::sync::Mutex<()>,
    start: Instant,
    /// Microseconds from the start to when the last reading that succeeded began, and one; 0 =
    /// there was none.
    read_at: AtomicU64,
}

impl SwitchCache {
    pub(crate) fn new(store: Arc<dyn SwitchStore>, owner: String) -> Self {
        let (reading, read_at) = Default::default();
        Self { store, owner, reading, start: Instant::now(), read_at }
    }

    /// Puts into force what is stored now; whether anything is another than before.
    ///
    /// # Errors
    /// What the store says; then nothing is changed.
    pub(crate) async fn refresh(&self, registry: &Registry) -> Result<bool, StoreError> {
        let _one_at_a_time = self.reading.lock().await;
        self.read_alone(registry).await
    }

    /// The same, where what was read last is too old to start a call on.
    pub(crate) async fn refresh_if_stale(&self, registry: &Registry) -> Result<(), StoreError> {
        if self.is_fresh() {
            return Ok(());
        }
        let _one_at_a_time = self.reading.lock().await;
        // Another task may have read them meanwhile.
        if !self.is_fresh() {
            self.read_alone(registry).await?;
        }
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        let read_at = self.read_at.load(Ordering::Acquire);
        read_at > 0 && self.now() - read_at < SWITCH_CACHE_TTL.as_micros() as u64
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64 + 1
    }

    async fn read_alone(&self, registry: &Registry) -> Result<bool, StoreError> {
        // What is set from here on may be missed.
        let begun = self.now();
        let rows = self.store.switches(&self.owner).await?;
        // What a newer Toolcrib wrote is for things that there are not here.
        let known =
            rows.iter().filter_map(|row| Some((SwitchTarget::parse(&row.name)?, row.state)));
        let known: Vec<(SwitchTarget, SwitchState)> = known.collect();
        let changed = registry.replace_switches(Switches::from_rows(&known));
        self.read_at.store(begun, Ordering::Release);
        Ok(changed)
    }
}
