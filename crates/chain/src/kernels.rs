//! The kernels: one per run that uses the level `full`, until nobody has used it for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;
use toolcrib_core::{RunId, ToolError};

use crate::kernel::Kernel;

/// Kernels that are kept at one time: each may hold its variables in memory.
const MOST: usize = 8;

/// How long one is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(600);

/// Runs of which it is remembered that their kernel is gone.
const REMEMBERED: usize = 256;

/// The kernels of all runs. Dropped, all of them end.
#[derive(Default)]
pub struct Kernels {
    places: Mutex<HashMap<String, Arc<Place>>>,
}

/// The place of one run.
pub(crate) struct Place {
    /// Held while code of the run is at work: its calls wait for each other.
    pub(crate) seat: AsyncMutex<Seat>,
    used: Mutex<Instant>,
}

/// Who sits there.
#[derive(Default)]
pub(crate) struct Seat {
    kernel: Option<Kernel>,
    /// Why the kernel of before is gone, as the end of a sentence, until the model was told.
    gone: Option<&'static str>,
}

impl Seat {
    /// Its kernel, or a new one. Beside it, what the model has to know of a new one: why the variables of before are gone.
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
        // Unless it is given back.
        self.gone = Some("its last call was broken off");
        Ok((kernel, gone))
    }

    /// Gives a kernel back. While it was away it was the caller's: whoever drops it ends it.
    pub(crate) fn keep(&mut self, kernel: Kernel) {
        // Of one that is not there any more the model was told.
        *self = Self { kernel: Some(kernel).filter(Kernel::is_there), gone: None };
    }

    fn vacate(&mut self, why: &'static str) {
        if self.kernel.take().is_some() {
            self.gone = Some(why);
        }
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels").field("places", &self.places().len()).finish()
    }
}

impl Kernels {
    /// Ends the kernel of a run that is over; nobody comes back for its variables. Code at work ends with its call.
    pub fn end(&self, run: RunId) {
        let place = self.places().remove(&run.to_string());
        // Outside of the table: a kernel takes its processes along.
        drop(place);
    }

    /// Ends all kernels.
    pub fn end_all(&self) {
        let places = std::mem::take(&mut *self.places());
        drop(places);
    }

    /// The place of a run.
    pub(crate) fn place(&self, run: &str) -> Arc<Place> {
        let mut places = self.places();
        if places.len() >= REMEMBERED {
            places.retain(|_, place| {
                Arc::strong_count(place) > 1
                    || place.seat.try_lock().is_ok_and(|seat| seat.kernel.is_some())
            });
        }
        let place = places.entry(run.to_owned()).or_insert_with(|| {
            Arc::new(Place { seat: AsyncMutex::default(), used: Mutex::new(Instant::now()) })
        });
        Arc::clone(place)
    }

    /// Makes room for one more, and has this one go when nobody uses it any more.
    pub(crate) fn used(&self, place: &Arc<Place>) {
        *place.used() = Instant::now();
        let weak = Arc::downgrade(place);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(place) = weak.upgrade() else { return };
            if place.used().elapsed() < IDLE {
                return;
            }
            if let Ok(mut seat) = place.seat.try_lock() {
                seat.vacate("nobody used it for ten minutes");
            }
        });
        self.make_room();
    }

    /// Ends the kernels that were used longest ago, where there are too many.
    fn make_room(&self) {
        let places = self.places();
        let mut kept: Vec<(Instant, &Arc<Place>)> = places
            .values()
            .filter(|place| place.seat.try_lock().is_ok_and(|seat| seat.kernel.is_some()))
            .map(|place| (*place.used(), place))
            .collect();
        kept.sort_by_key(|(used, _)| *used);
        let excess = kept.len().saturating_sub(MOST);
        for (_, place) in kept.into_iter().take(excess) {
            if let Ok(mut seat) = place.seat.try_lock() {
                seat.vacate("other runs needed the room");
            }
        }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
