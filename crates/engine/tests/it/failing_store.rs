//! A store in memory whose parts fail on demand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use toolcrib_core::{
    Acceptance, AcceptedBatch, BatchId, BoxFuture, CallId, CallRow, CallStore, Intent, Recovered,
    Settlement, StoreError, StoredCall, WorkerState,
};
use toolcrib_engine::store::MemoryCalls;

/// Operations that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Claim,
    Accept,
    Take,
    Done,
    Begin,
    Settle,
    Call,
    Recover,
}

/// Behaves like [`MemoryCalls`], except for requested failures.
#[derive(Default)]
pub(crate) struct FailingCalls {
    pub(crate) inner: Arc<MemoryCalls>,
    faults: Mutex<HashMap<Part, StoreError>>,
    /// Whether `begin` hangs, after or before the write.
    held: Mutex<Option<bool>>,
}

impl FailingCalls {
    pub(crate) fn over(inner: &Arc<MemoryCalls>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), ..Self::default() })
    }

    /// Makes this part fail with this error from now on; `None` makes it work again.
    pub(crate) fn fail(&self, part: Part, error: impl Into<Option<StoreError>>) {
        let mut faults = self.faults.lock().unwrap();
        match error.into() {
            Some(error) => faults.insert(part, error),
            None => faults.remove(&part),
        };
    }

    /// Makes `begin` hang from now on: after the write, or before it.
    pub(crate) fn hold_beginnings(&self, written: bool) {
        *self.held.lock().unwrap() = Some(written);
    }

    fn or<'a, T: Send + 'a>(
        &'a self,
        part: Part,
        real: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        match self.faults.lock().unwrap().get(&part).cloned() {
            Some(error) => Box::pin(std::future::ready(Err(error))),
            None => real,
        }
    }
}

impl CallStore for FailingCalls {
    fn keeps_details(&self) -> bool {
        self.inner.keeps_details()
    }
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.or(Part::Claim, Box::pin(async { self.inner.claim().await }))
    }
    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.release(epoch)
    }
    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        self.inner.worker(epoch)
    }
    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.or(Part::Accept, Box::pin(async { self.inner.accept(batch).await }))
    }
    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.or(Part::Take, Box::pin(async move { self.inner.take_batch(id, epoch).await }))
    }
    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        self.inner.batch_of(call)
    }
    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.or(Part::Done, Box::pin(async move { self.inner.finish_batch(id).await }))
    }
    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        let held = *self.held.lock().unwrap();
        let real = async move {
            if held != Some(false) {
                self.inner.begin(intent).await?;
            }
            if held.is_some() {
                std::future::pending::<()>().await;
            }
            Ok(())
        };
        self.or(Part::Begin, Box::pin(real))
    }
    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.suspend(call, epoch)
    }
    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        self.or(Part::Settle, Box::pin(async { self.inner.settle(settlement).await }))
    }
    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        self.or(Part::Call, Box::pin(async move { self.inner.call(call).await }))
    }
    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.inner.open_calls()
    }
    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>> {
        self.inner.abandoned_batches()
    }

    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        let real = async move { self.inner.recover(epoch, now_ms).await };
        self.or(Part::Recover, Box::pin(real))
    }
}
