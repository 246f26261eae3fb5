//! A queue that shares slots fairly between clients, so that a burst of one does not delay others.
//!
//! All clients share a number of slots; one client holds at most half of them. Requests of one
//! client are served in order, clients are served round-robin. A slot that becomes free is sent to
//! the next request through a channel; nothing polls. The number of waiting requests is bounded.
//!
//! Only a few permits of one client are *starting* at once. Work that started a while ago mostly
//! waits for I/O, but hundreds of tasks that become runnable together all stand in front of every
//! later task in the run queue of the runtime: under load, this made calls of other clients take
//! fifteen times as long. While other clients are active, the number is lower still, so that a
//! processor stays idle: a thread that waits for a processor waits for a whole time slice of the
//! scheduler.
//!
//! Invariants
//! - Held and free slots add up to all slots, also when a waiter or a holder is dropped.
//! - A slot is free only while no request waits that may take it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Time after which a permit is expected to have started: by then its work has ended, or waits for
/// something other than a processor.
pub(crate) const START_TIME: Duration = Duration::from_millis(2);
/// Time after a request for which its client counts as active.
const ACTIVE_TIME: Duration = Duration::from_secs(1);
/// Divides the number of starting permits while another client is active. With two permits for each
/// processor, a client then keeps half of the processors busy.
const SHARED_START_DIVISOR: usize = 4;

/// The queue. Clones share it.
#[derive(Clone)]
pub(crate) struct FairQueue {
    state: Arc<Mutex<QueueState>>,
}

/// The maximum number of requests is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// Figures for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueStats {
    /// Slots that are held.
    pub(crate) held: usize,
    /// Requests that are waiting.
    pub(crate) waiting: usize,
}

struct QueueState {
    /// Slots that are not held.
    free: usize,
    slots: usize,
    /// Slots that one client may hold.
    client_share: usize,
    /// Slots of one client that may be starting while no other client is active. A single request
    /// that needs more may still start alone.
    max_starting: usize,
    /// The two clients that sent the latest requests, the latest first, and when.
    recent_clients: [Option<(Arc<str>, Instant)>; 2],
    /// Time at which the queue last granted slots. Other clients become inactive only at that time;
    /// otherwise a request could become eligible without being granted a slot.
    last_checked: Instant,
    /// Maximum number of waiting requests.
    max_waiting: usize,
    waiting: usize,
    /// Clients that hold slots or wait for them.
    clients: HashMap<Arc<str>, ClientQueue>,
    /// Clients with waiting requests, the next one first.
    round_robin: VecDeque<Arc<str>>,
    last_ticket: u64,
}

#[derive(Default)]
struct ClientQueue {
    held: usize,
    /// Held slots whose permit is starting.
    starting: usize,
    /// Requests by ticket, the oldest first.
    queue: BTreeMap<u64, QueuedRequest>,
}

/// A request in the queue of its client.
struct QueuedRequest {
    weight: usize,
    grant: oneshot::Sender<Permit>,
}

/// Held slots, returned on drop. The permit is starting until [`Permit::mark_started`] is called.
pub(crate) struct Permit {
    /// `None` if the queue itself returned the slots.
    state: Option<Arc<Mutex<QueueState>>>,
    client: Arc<str>,
    weight: usize,
    is_starting: AtomicBool,
}

/// A future that resolves to the permit. Dropping it earlier removes the request from the queue.
pub(crate) struct PermitWaiter {
    queue: FairQueue,
    state: WaiterState,
}

enum WaiterState {
    /// The permit was granted; `None` after it was taken.
    Granted(Option<Permit>),
    /// The request waits in the queue of its client.
    Waiting { client: Arc<str>, ticket: u64, granted: oneshot::Receiver<Permit> },
}

impl FairQueue {
    /// Creates a queue with this many slots. `max_starting` slots of one client may be starting,
    /// and `max_waiting` requests may wait.
    pub(crate) fn new(slots: usize, max_starting: usize, max_waiting: usize) -> Self {
        let slots = slots.max(1);
        let state = QueueState {
            free: slots,
            slots,
            client_share: (slots / 2).max(1),
            max_starting,
            recent_clients: [None, None],
            last_checked: Instant::now(),
            max_waiting,
            waiting: 0,
            clients: HashMap::new(),
            round_robin: VecDeque::new(),
            last_ticket: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Takes `weight` slots for this client, at once or in its turn. A weight beyond the share of a
    /// client is reduced to it.
    ///
    /// # Errors
    /// [`QueueFull`].
    pub(crate) fn acquire(&self, client: &str, weight: usize) -> Result<PermitWaiter, QueueFull> {
        let mut state = self.lock();
        let weight = weight.clamp(1, state.client_share);
        let client = state.client_name(client);
        state.note_arrival(&client);
        if state.can_admit(&client, weight) {
            state.take(&client, weight);
            drop(state);
            let permit = self.permit(client, weight);
            let state = WaiterState::Granted(Some(permit));
            return Ok(PermitWaiter { queue: self.clone(), state });
        }
        if state.waiting >= state.max_waiting {
            state.remove_if_idle(&client);
            return Err(QueueFull);
        }
        let (grant, granted) = oneshot::channel();
        let ticket = state.enqueue(&client, QueuedRequest { weight, grant });
        drop(state);
        let state = WaiterState::Waiting { client, ticket, granted };
        Ok(PermitWaiter { queue: self.clone(), state })
    }

    /// Returns the number of held slots and of waiting requests.
    pub(crate) fn stats(&self) -> QueueStats {
        let state = self.lock();
        QueueStats { held: state.slots - state.free, waiting: state.waiting }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants slots to all requests that may have them now.
    fn grant_next(&self) {
        loop {
            let Some((request, client)) = self.lock().next() else { return };
            let weight = request.weight;
            let permit = self.permit(client, weight);
            // The waiter was dropped at this moment. The slots are returned here and not by the
            // permit's drop, which would call this function recursively.
            if let Err(mut refused) = request.grant.send(permit) {
                refused.state = None;
                self.lock().release(&refused.client, refused.weight, true);
            }
        }
    }

    fn permit(&self, client: Arc<str>, weight: usize) -> Permit {
        Permit {
            state: Some(Arc::clone(&self.state)),
            client,
            weight,
            is_starting: AtomicBool::new(true),
        }
    }
}

impl QueueState {
    fn client_name(&self, client: &str) -> Arc<str> {
        self.clients
            .get_key_value(client)
            .map_or_else(|| Arc::from(client), |(name, _)| Arc::clone(name))
    }

    /// Returns whether a request of this client is granted at once: enough slots are free, and all
    /// waiting requests wait because of the share of their own client.
    fn can_admit(&self, client: &str, weight: usize) -> bool {
        let entry = self.clients.get(client);
        entry.is_none_or(|entry| {
            entry.queue.is_empty() && self.is_within_share(client, entry, weight)
        }) && self.free >= weight
            && !self.round_robin.iter().any(|other| self.next_weight(other).is_some())
    }

    /// Returns whether this many more slots are within the limits of a client.
    fn is_within_share(&self, client: &str, entry: &ClientQueue, weight: usize) -> bool {
        entry.held + weight <= self.client_share
            && (entry.starting == 0 || entry.starting + weight <= self.start_limit(client))
    }

    /// Returns the number of slots of a client that may be starting.
    fn start_limit(&self, client: &str) -> usize {
        let other = self.recent_clients.iter().flatten().find(|(other, _)| **other != *client);
        match other {
            Some((_, when)) if self.last_checked.saturating_duration_since(*when) < ACTIVE_TIME => {
                (self.max_starting / SHARED_START_DIVISOR).max(1)
            }
            _ => self.max_starting,
        }
    }

    fn note_arrival(&mut self, client: &Arc<str>) {
        let [last, before] = &mut self.recent_clients;
        if last.as_ref().is_none_or(|(other, _)| other != client) {
            *before = last.take();
        }
        *last = Some((Arc::clone(client), Instant::now()));
    }

    fn take(&mut self, client: &Arc<str>, weight: usize) {
        self.free -= weight;
        let entry = self.clients.entry(Arc::clone(client)).or_default();
        entry.held += weight;
        entry.starting += weight;
    }

    fn release(&mut self, client: &Arc<str>, weight: usize, is_starting: bool) {
        self.free += weight;
        if let Some(entry) = self.clients.get_mut(client) {
            entry.held -= weight;
            entry.starting -= if is_starting { weight } else { 0 };
        }
        self.remove_if_idle(client);
    }

    fn mark_started(&mut self, client: &Arc<str>, weight: usize) {
        if let Some(entry) = self.clients.get_mut(client) {
            entry.starting -= weight;
        }
    }

    /// Removes a client that neither holds slots nor waits.
    fn remove_if_idle(&mut self, client: &Arc<str>) {
        if self.clients.get(client).is_some_and(|entry| entry.held == 0 && entry.queue.is_empty()) {
            self.clients.remove(client);
        }
    }

    fn enqueue(&mut self, client: &Arc<str>, request: QueuedRequest) -> u64 {
        self.last_ticket += 1;
        self.waiting += 1;
        let entry = self.clients.entry(Arc::clone(client)).or_default();
        if entry.queue.is_empty() {
            self.round_robin.push_back(Arc::clone(client));
        }
        entry.queue.insert(self.last_ticket, request);
        self.last_ticket
    }

    /// Removes a waiting request; returns `false` if its permit was already granted.
    fn remove_waiter(&mut self, client: &Arc<str>, ticket: u64) -> bool {
        let Some(entry) = self.clients.get_mut(client) else { return false };
        if entry.queue.remove(&ticket).is_none() {
            return false;
        }
        self.waiting -= 1;
        if entry.queue.is_empty() {
            self.round_robin.retain(|other| other != client);
        }
        self.remove_if_idle(client);
        true
    }

    /// Returns the weight of a client's first request, unless the limits of the client do not allow
    /// it.
    fn next_weight(&self, client: &str) -> Option<usize> {
        let entry = self.clients.get(client)?;
        let weight = entry.queue.values().next()?.weight;
        self.is_within_share(client, entry, weight).then_some(weight)
    }

    /// Removes the next request from the queue and takes its slots. A client whose request only
    /// lacks free slots is not overtaken by others: otherwise it could wait forever.
    fn next(&mut self) -> Option<(QueuedRequest, Arc<str>)> {
        self.last_checked = Instant::now();
        let (at, weight) = self
            .round_robin
            .iter()
            .enumerate()
            .find_map(|(at, client)| Some((at, self.next_weight(client)?)))?;
        if self.free < weight {
            return None;
        }
        let client = self.round_robin.remove(at)?;
        let entry = self.clients.get_mut(&client)?;
        let (_, request) = entry.queue.pop_first()?;
        if !entry.queue.is_empty() {
            self.round_robin.push_back(Arc::clone(&client));
        }
        self.waiting -= 1;
        self.take(&client, weight);
        Some((request, client))
    }
}

impl Permit {
    /// Marks the work as started, so that another request of the client may start. Calling it again
    /// has no effect.
    pub(crate) fn mark_started(&self) {
        let Some(state) = &self.state else { return };
        if self.is_starting.swap(false, Ordering::AcqRel) {
            let queue = FairQueue { state: Arc::clone(state) };
            queue.lock().mark_started(&self.client, self.weight);
            queue.grant_next();
        }
    }
}

impl Future for PermitWaiter {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        match &mut self.state {
            WaiterState::Granted(permit) => permit.take().map_or(Poll::Pending, Poll::Ready),
            WaiterState::Waiting { granted, .. } => match Pin::new(granted).poll(context) {
                Poll::Ready(Ok(permit)) => {
                    self.state = WaiterState::Granted(None);
                    Poll::Ready(permit)
                }
                // The queue drops a sender only after sending, or when this waiter is dropped.
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl Drop for PermitWaiter {
    fn drop(&mut self) {
        let WaiterState::Waiting { client, ticket, .. } = &self.state else { return };
        // A permit that was sent and not received is dropped with the channel, which returns its
        // slots.
        let was_waiting = self.queue.lock().remove_waiter(client, *ticket);
        if was_waiting {
            // A lighter request may have been waiting behind it.
            self.queue.grant_next();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        let queue = FairQueue { state };
        let is_starting = *self.is_starting.get_mut();
        queue.lock().release(&self.client, self.weight, is_starting);
        queue.grant_next();
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (client, weight) = (&self.client, self.weight);
        f.debug_struct("Permit")
            .field("client", client)
            .field("weight", &weight)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
