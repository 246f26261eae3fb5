//! Kernel pool: one kernel per run that uses the level `full`, until it has been idle for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;
use toolcrib_core::{RunId, ToolError};

use crate::cpython_level::kernel::Kernel;

/// Maximum number of kernels: each may store its variables in memory.
const MAX_KERNELS: usize = 8;

/// Idle time after which a kernel ends.
const IDLE: Duration = Duration::from_secs(600);

/// Number of runs whose ended kernels are remembered.
const REMEMBERED: usize = 256;

/// The kernels of all runs. Dropping the pool ends all of them.
#[derive(Default)]
pub struct KernelPool {
    places: Mutex<HashMap<String, Arc<KernelSlot>>>,
}

/// The slot of one run.
pub(crate) struct KernelSlot {
    /// Locked while code of the run is running: its calls wait for each other.
    pub(crate) seat: AsyncMutex<SlotState>,
    used: Mutex<Instant>,
}

/// Content of a slot.
#[derive(Default)]
pub(crate) struct SlotState {
    kernel: Option<Kernel>,
    /// The reason why the previous kernel has ended, as the end of a sentence, until the model is
    /// informed.
    gone: Option<&'static str>,
}

impl SlotState {
    /// Returns the run's kernel, or a new one with the reason for the loss of the previous
    /// variables, for the model.
    pub(crate) async fn kernel(
        &mut self,
        anew: bool,
        start: impl Future<Output = Result<Kernel, ToolError>>,
    ) -> Result<(Kernel, Option<&'static str>), ToolError> {
        if anew {
            *self = Self::default();
        }
        let (kernel, gone) = match self.kernel.take() {
            Some(kernel) => (kernel, None),
            None => (start.await?, self.gone.take()),
        };
        // Applies unless the kernel is returned.
        self.gone = Some("its last call was broken off");
        Ok((kernel, gone))
    }

    /// Returns a kernel to the slot. In between it belongs to the caller: dropping it ends the
    /// kernel.
    pub(crate) fn put(&mut self, kernel: Kernel) {
        // The model has already been informed about a kernel that died.
        *self = Self { kernel: Some(kernel).filter(Kernel::is_alive), gone: None };
    }

    fn clear(&mut self, why: &'static str) {
        if self.kernel.take().is_some() {
            self.gone = Some(why);
        }
    }
}

impl std::fmt::Debug for KernelPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels").field("places", &self.slots().len()).finish()
    }
}

impl KernelPool {
    /// Ends the kernel of a finished run. Running code ends with its call.
    pub fn end(&self, run: RunId) {
        let place = self.slots().remove(&run.to_string());
        // Dropped outside the lock: ending a kernel kills its processes.
        drop(place);
    }

    /// Ends all kernels.
    pub fn end_all(&self) {
        let places = std::mem::take(&mut *self.slots());
        drop(places);
    }

    /// Returns the slot of a run.
    pub(crate) fn slot(&self, run: &str) -> Arc<KernelSlot> {
        let mut places = self.slots();
        if places.len() >= REMEMBERED {
            places.retain(|_, place| {
                Arc::strong_count(place) > 1
                    || place.seat.try_lock().is_ok_and(|seat| seat.kernel.is_some())
            });
        }
        let place = places.entry(run.to_owned()).or_insert_with(|| {
            Arc::new(KernelSlot { seat: AsyncMutex::default(), used: Mutex::new(Instant::now()) })
        });
        Arc::clone(place)
    }

    /// Records the use of a slot, evicts others if there are too many, and schedules the end of
    /// this one after its idle time.
    pub(crate) fn mark_used(&self, place: &Arc<KernelSlot>) {
        *place.used() = Instant::now();
        let weak = Arc::downgrade(place);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(place) = weak.upgrade() else { return };
            if place.used().elapsed() < IDLE {
                return;
            }
            if let Ok(mut seat) = place.seat.try_lock() {
                seat.clear("it was idle for ten minutes");
            }
        });
        self.make_room();
    }

    /// Ends the least recently used kernels if there are too many.
    fn make_room(&self) {
        let places = self.slots();
        let mut kept: Vec<(Instant, &Arc<KernelSlot>)> = places
            .values()
            .filter(|place| place.seat.try_lock().is_ok_and(|seat| seat.kernel.is_some()))
            .map(|place| (*place.used(), place))
            .collect();
        kept.sort_by_key(|(used, _)| *used);
        let excess = kept.len().saturating_sub(MAX_KERNELS);
        for (_, place) in kept.into_iter().take(excess) {
            if let Ok(mut seat) = place.seat.try_lock() {
                seat.clear("other runs needed the room");
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<KernelSlot>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KernelSlot {
    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
