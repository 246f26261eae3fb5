//! Calls and their outcomes, in memory.

use std::collections::{HashMap, VecDeque};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{BoxFuture, CallId, CallRecord, CallStore, Change, Intent, StoreError};

/// Settled calls that are remembered; the oldest go first. Open calls are never forgotten.
const KEPT: usize = 10_000;

/// One line of the log; what it says of a call is in the maps.
#[derive(Clone, Copy)]
enum Logged {
    Started(CallId),
    Settled(CallId),
}

#[derive(Default)]
struct State {
    epoch: u64,
    open: HashMap<CallId, Intent, foldhash::fast::RandomState>,
    settled: HashMap<CallId, CallRecord, foldhash::fast::RandomState>,
    log: VecDeque<Logged>,
    /// Changes that were forgotten from the front of the log.
    forgotten: u64,
}

/// A [`CallStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryCalls {
    state: Mutex<State>,
}

impl MemoryCalls {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self, intent: Intent) -> Result<(), StoreError> {
        self.check_epoch(intent.epoch)?;
        let call = intent.call;
        if self.settled.contains_key(&call) {
            return Err(StoreError::Conflict(call.to_string()));
        }
        if self.open.insert(call, intent).is_some() {
            return Err(StoreError::Conflict(call.to_string()));
        }
        self.log(Logged::Started(call));
        Ok(())
    }

    fn settle(&mut self, record: CallRecord) -> Result<(), StoreError> {
        self.check_epoch(record.epoch)?;
        let call = record.call;
        if self.settled.contains_key(&call) {
            return Err(StoreError::Conflict(call.to_string()));
        }
        self.open.remove(&call);
        self.settled.insert(call, record);
        self.log(Logged::Settled(call));
        Ok(())
    }

    fn check_epoch(&self, claimed: u64) -> Result<(), StoreError> {
        if claimed < self.epoch {
            return Err(StoreError::Fenced { current: self.epoch, claimed });
        }
        Ok(())
    }

    fn log(&mut self, line: Logged) {
        self.log.push_back(line);
        while self.log.len() > 2 * KEPT {
            self.forgotten += 1;
            if let Some(Logged::Settled(old)) = self.log.pop_front() {
                self.settled.remove(&old);
            }
        }
    }

    fn change(&self, line: Logged) -> Option<Change> {
        match line {
            Logged::Started(call) => Some(Change::Started(call)),
            Logged::Settled(call) => self.settled.get(&call).cloned().map(Change::Settled),
        }
    }
}

impl CallStore for MemoryCalls {
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        let mut state = self.lock();
        state.epoch += 1;
        Box::pin(ready(Ok(state.epoch)))
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().begin(intent)))
    }

    fn settle(&self, record: CallRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().settle(record)))
    }

    fn outcome(&self, call: CallId) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        Box::pin(ready(Ok(self.lock().settled.get(&call).cloned())))
    }

    fn open(&self) -> BoxFuture<'_, Result<Vec<CallId>, StoreError>> {
        let mut open: Vec<CallId> = self.lock().open.keys().copied().collect();
        open.sort_unstable();
        Box::pin(ready(Ok(open)))
    }

    fn changes(&self, since: u64) -> BoxFuture<'_, Result<(u64, Vec<Change>), StoreError>> {
        let state = self.lock();
        let skip = usize::try_from(since.saturating_sub(state.forgotten)).unwrap_or(usize::MAX);
        let changes = state.log.iter().skip(skip).filter_map(|line| state.change(*line)).collect();
        let end = state.forgotten + state.log.len() as u64;
        Box::pin(ready(Ok((end, changes))))
    }
}
