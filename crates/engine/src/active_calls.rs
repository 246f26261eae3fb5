//! The table of calls that were received and have not ended. It lists running calls and cancels
//! calls on request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::{CallId, CancellationToken, Context, Effect, Origin, RunId, ToolName};

use crate::registered_tool::RegisteredTool;

/// A running call: its start is recorded, and it has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCall {
    /// Its id.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// The tool, by its canonical name.
    pub tool: ToolName,
    /// Where the call comes from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: Arc<Context>,
    /// Assessed effect.
    pub effect: Effect,
    /// When its start was recorded, in milliseconds since 1970.
    pub started_at_ms: i64,
}

/// Number of shards of the table, so that calls of several threads do not wait for each other: more
/// than a machine is likely to have cores.
const SHARDS: usize = 16;

/// One call.
struct TableEntry {
    call: CallId,
    cancel: CancellationToken,
    /// Whether the call was stopped. An attempt that begins afterwards is stopped too.
    is_stopped: bool,
    /// Whether only the end remains to be recorded. The call can then no longer be stopped.
    is_over: bool,
    work: Option<RunningWork>,
}

/// Data of a running call.
pub(crate) struct RunningWork {
    pub(crate) run: Option<RunId>,
    pub(crate) origin: Origin,
    pub(crate) context: Arc<Context>,
    pub(crate) tool: Arc<RegisteredTool>,
    pub(crate) effect: Effect,
    pub(crate) started_at: i64,
}

/// Numbered slots with a list of the free ones.
#[derive(Default)]
struct Shard {
    places: Vec<Option<TableEntry>>,
    free: Vec<usize>,
}

#[derive(Default)]
struct ShardedTable {
    parts: [Mutex<Shard>; SHARDS],
    turn: AtomicUsize,
}

/// All calls of an engine.
#[derive(Default)]
pub(crate) struct CallTable {
    table: Arc<ShardedTable>,
}

/// The slot of one call, released when dropped.
pub(crate) struct CallRegistration {
    table: Arc<ShardedTable>,
    part: usize,
    place: usize,
}

fn lock(part: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TableEntry {
    fn running(&self) -> Option<RunningCall> {
        let work = self.work.as_ref().filter(|_| !self.is_over)?;
        Some(RunningCall {
            call: self.call,
            run: work.run,
            tool: work.tool.spec().name.clone(),
            origin: work.origin,
            context: Arc::clone(&work.context),
            effect: work.effect,
            started_at_ms: work.started_at,
        })
    }
}

impl CallTable {
    /// Adds a received call with the token that stops it.
    pub(crate) fn insert(&self, call: CallId, cancel: &CancellationToken) -> CallRegistration {
        let cancel = cancel.clone();
        let sitting = TableEntry { call, cancel, is_stopped: false, is_over: false, work: None };
        let part = self.table.turn.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let table = Arc::clone(&self.table);
        let mut seats = lock(&table.parts[part]);
        let place = match seats.free.pop() {
            Some(place) => place,
            None => {
                seats.places.push(None);
                seats.places.len() - 1
            }
        };
        seats.places[place] = Some(sitting);
        drop(seats);
        CallRegistration { table, part, place }
    }

    pub(crate) fn count(&self) -> u64 {
        let taken = |part| {
            let part = lock(part);
            part.places.len() - part.free.len()
        };
        self.table.parts.iter().map(taken).sum::<usize>() as u64
    }

    pub(crate) fn running(&self) -> Vec<RunningCall> {
        let mut running = Vec::new();
        for part in &self.table.parts {
            running.extend(lock(part).places.iter().flatten().filter_map(TableEntry::running));
        }
        running.sort_by_key(|call| (call.started_at_ms, call.call));
        running
    }

    pub(crate) fn cancel(&self, call: CallId) -> bool {
        !self.stop(|sitting| sitting.call == call).is_empty()
    }

    pub(crate) fn cancel_all(&self, is_meant: impl Fn(&RunningCall) -> bool) -> Vec<CallId> {
        // Called without the lock of the table: the callback may read the table.
        let meant: Vec<CallId> =
            self.running().iter().filter(|call| is_meant(call)).map(|call| call.call).collect();
        self.stop(|sitting| sitting.work.is_some() && meant.contains(&sitting.call))
    }

    /// Stops the selected calls that are not finishing.
    fn stop(&self, is_meant: impl Fn(&TableEntry) -> bool) -> Vec<CallId> {
        let mut stopped = Vec::new();
        for part in &self.table.parts {
            for sitting in lock(part).places.iter_mut().flatten() {
                if !sitting.is_over && is_meant(sitting) {
                    sitting.is_stopped = true;
                    stopped.push((sitting.call, sitting.cancel.clone()));
                }
            }
        }
        // Cancel outside the lock of the table: tasks that wake up may access the table.
        let stop = |(call, token): (CallId, CancellationToken)| {
            token.cancel();
            call
        };
        stopped.into_iter().map(stop).collect()
    }
}

impl CallRegistration {
    fn change<T>(&self, change: impl FnOnce(&mut TableEntry) -> T) -> Option<T> {
        lock(&self.table.parts[self.part]).places[self.place].as_mut().map(change)
    }

    /// Marks the call as running.
    pub(crate) fn mark_running(&self, work: RunningWork) {
        self.change(|sitting| sitting.work = Some(work));
    }

    /// Sets the separate token of another attempt.
    pub(crate) fn replace_token(&self, cancel: &CancellationToken) {
        let renewed = self.change(|sitting| {
            sitting.cancel = cancel.clone();
            sitting.is_stopped
        });
        if renewed == Some(true) {
            cancel.cancel();
        }
    }

    /// Marks the call as finishing: only its end remains to be recorded.
    pub(crate) fn mark_finishing(&self) {
        self.change(|sitting| sitting.is_over = true);
    }
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        let mut part = lock(&self.table.parts[self.part]);
        let gone = part.places[self.place].take();
        part.free.push(self.place);
        drop(part);
        // Drop the value outside the lock: it may hold the last reference to an object.
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_an_attempt_after_a_stop_is_stopped() {
        let seats = CallTable::default();
        let token = CancellationToken::new;
        for _ in 0..3 {
            let taken: Vec<CallRegistration> =
                (0..2 * SHARDS).map(|_| seats.insert(CallId::fresh(), &token())).collect();
            assert_eq!(seats.count(), taken.len() as u64);
        }
        assert_eq!(seats.count(), 0);
        let places: usize = seats.table.parts.iter().map(|part| lock(part).places.len()).sum();
        assert_eq!(places, 2 * SHARDS);

        let (call, first, second) = (CallId::fresh(), token(), token());
        let (seat, other) = (seats.insert(call, &first), seats.insert(CallId::fresh(), &second));
        assert!(seats.cancel(call) && first.is_cancelled() && !second.is_cancelled());
        let next = token();
        seat.replace_token(&next);
        assert!(next.is_cancelled());
        other.mark_finishing();
        assert!(!seats.cancel(CallId::fresh()) && !second.is_cancelled());
        drop(seat);
        assert!(!seats.cancel(call));
    }
}
