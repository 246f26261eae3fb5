//! Calls and their outcomes, in memory.

use std::collections::hash_map::Entry;
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

/// What is known of a call.
enum Row {
    Open,
    Settled(CallRecord),
}

#[derive(Default)]
struct State {
    epoch: u64,
    calls: HashMap<CallId, Row, foldhash::fast::RandomState>,
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
        match self.calls.entry(call) {
            Entry::Occupied(_) => return Err(StoreError::Conflict(call.to_string())),
            Entry::Vacant(free) => free.insert(Row::Open),
        };
        self.log(Logged::Started(call));
        Ok(())
    }

    /// A call that was refused before it started has no intent, so there may be no row yet.
    fn settle(&mut self, record: CallRecord) -> Result<(), StoreError> {
        self.check_epoch(record.epoch)?;
        let call = record.call;
        match self.calls.entry(call) {
            Entry::Occupied(row) if matches!(row.get(), Row::Settled(_)) => {
                return Err(StoreError::Conflict(call.to_string()));
            }
            row => {
                row.insert_entry(Row::Settled(record));
            }
        }
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
                self.calls.remove(&old);
            }
        }
    }

    fn settled(&self, call: CallId) -> Option<CallRecord> {
        match self.calls.get(&call)? {
            Row::Open => None,
            Row::Settled(record) => Some(record.clone()),
        }
    }

    fn change(&self, line: Logged) -> Option<Change> {
        match line {
            Logged::Started(call) => Some(Change::Started(call)),
            Logged::Settled(call) => self.settled(call).map(Change::Settled),
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
        Box::pin(ready(Ok(self.lock().settled(call))))
    }

    fn open(&self) -> BoxFuture<'_, Result<Vec<CallId>, StoreError>> {
        let state = self.lock();
        let rows = state.calls.iter().filter(|(_, row)| matches!(row, Row::Open));
        let mut open: Vec<CallId> = rows.map(|(call, _)| *call).collect();
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
