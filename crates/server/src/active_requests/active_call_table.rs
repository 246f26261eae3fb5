//! The calls of requests that have not ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolcrib_core::{Batch, Call, CallId, CancellationToken};

use crate::admission::Permit;
use crate::run_supervisor::RunSupervisor;

/// The calls of requests that have not ended.
#[derive(Default)]
pub(crate) struct ActiveCallTable {
    state: Mutex<TableState>,
    /// Notified when no request is left.
    idle: Notify,
}

#[derive(Default)]
struct TableState {
    /// Requests whose calls have not all ended.
    requests: usize,
    /// Calls of these requests, as far as they are known before they start.
    calls: HashMap<CallId, ActiveCall>,
}

/// A call that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct ActiveCall {
    /// Its owner.
    pub(crate) owner: String,
    /// The principal that requested it.
    pub(crate) by: String,
    /// The tool, as the request names it.
    pub(crate) tool: String,
    /// Cancelled when the call has ended or waits for a person.
    pub(crate) over: CancellationToken,
}

/// An entry of a request in the table, removed on drop. It holds the permit of the request's calls.
pub(super) struct ActiveRequestGuard {
    table: Arc<ActiveCallTable>,
    supervisor: RunSupervisor,
    calls: Vec<CallId>,
    _permit: Arc<Permit>,
}

impl ActiveCallTable {
    fn lock(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a call that has not ended.
    pub(crate) fn get(&self, call: CallId) -> Option<ActiveCall> {
        self.lock().calls.get(&call).cloned()
    }

    /// Adds a request with these calls. When it ends, the supervisor is notified: a run that was
    /// open for a response may be closed by then.
    pub(super) fn register(
        self: &Arc<Self>,
        supervisor: &RunSupervisor,
        calls: Vec<(CallId, ActiveCall)>,
        permit: Arc<Permit>,
    ) -> ActiveRequestGuard {
        let ids = calls.iter().map(|(id, _)| *id).collect();
        let mut state = self.lock();
        state.requests += 1;
        state.calls.extend(calls);
        drop(state);
        ActiveRequestGuard {
            table: Arc::clone(self),
            supervisor: supervisor.clone(),
            calls: ids,
            _permit: permit,
        }
    }

    /// Waits until no request is left.
    pub(super) async fn wait_until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().requests == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for ActiveRequestGuard {
    fn drop(&mut self) {
        let mut state = self.table.lock();
        state.requests -= 1;
        let ended: Vec<ActiveCall> =
            self.calls.iter().filter_map(|call| state.calls.remove(call)).collect();
        let is_idle = state.requests == 0;
        drop(state);
        ended.iter().for_each(|call| call.over.cancel());
        if is_idle {
            self.table.idle.notify_waiters();
        }
        self.supervisor.notify_request_ended();
    }
}

/// Returns the table entries for the calls of a batch, under these ids.
pub(super) fn active_calls(
    batch: &Batch,
    ids: impl Iterator<Item = CallId>,
) -> Vec<(CallId, ActiveCall)> {
    let active = |call: &Call| ActiveCall {
        owner: batch.context.owner.clone(),
        by: batch.context.device.clone(),
        tool: call.name.clone(),
        over: CancellationToken::new(),
    };
    ids.zip(batch.calls.iter().map(active)).collect()
}
