//! The turnstile: who may begin a call now, so that a greedy client delays nobody else.
//!
//! A number of places is shared by all clients, and none of them holds more than half of them. Of one client, whoever came first goes first;
//! between clients it goes round. Nobody polls: a place that comes free is handed to whoever is next. Waiting ones are bounded.
//!
//! Only a few of a client's begin at once. What has begun a while ago mostly waits for something, but hundreds that begin together are all
//! ready to run, and whoever comes after them would stand behind each of them in the runtime's queue. While others are here, they are fewer
//! still: so few that they leave a processor idle, for whoever waits for a processor waits for as long as the system lets others run on.
//!
//! Invariants
//! - Places that are held and places that are free are together as many as there are, whatever is dropped when.
//! - A place is free only while nobody waits who may take it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long a client that has come counts as being here.
const STAYS: Duration = Duration::from_secs(1);
/// Of those that may begin at once: the share of a client that is not alone. With two for each processor, it keeps half of them busy.
const BESIDE_OTHERS: usize = 4;

/// Shared by all clients. Clones are the same turnstile.
#[derive(Clone)]
pub(crate) struct Turnstile {
    hall: Arc<Mutex<Hall>>,
}

/// Too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crowd {
    /// Places that are held.
    pub(crate) held: usize,
    /// Requests that wait.
    pub(crate) waiting: usize,
}

struct Hall {
    /// Places that nobody holds.
    free: usize,
    places: usize,
    /// Places that one client may hold.
    share: usize,
    /// Places of a client that is alone that may begin at once, where none of its is heavier.
    beginning: usize,
    /// Who came last, and who before that, and when.
    came: [Option<(Arc<str>, Instant)>; 2],
    /// When it was last looked who may go. Only then is it seen that others have left, so that whoever may go has been called.
    looked: Instant,
    /// Requests that may wait.
    room: usize,
    waiting: usize,
    /// Clients that hold or wait.
    lines: HashMap<Arc<str>, Line>,
    /// Clients that wait, in the order in which it is their turn.
    ring: VecDeque<Arc<str>>,
    tickets: u64,
}

#[derive(Default)]
struct Line {
    held: usize,
    /// Of those that are held: what begins.
    beginning: usize,
    /// By ticket: the oldest first.
    queue: BTreeMap<u64, Place>,
}

/// The place of one request in its client's line.
struct Place {
    weight: usize,
    call: oneshot::Sender<Turn>,
}

/// Places that are held; given back when dropped. It begins until it [has begun](Self::has_begun).
pub(crate) struct Turn {
    /// Taken out when nobody may hand on what this held.
    hall: Option<Arc<Mutex<Hall>>>,
    client: Arc<str>,
    weight: usize,
    begins: AtomicBool,
}

/// Waits for its turn. Dropped before, it leaves the line.
pub(crate) struct Waiter {
    turnstile: Turnstile,
    at: At,
}

enum At {
    /// It never had to wait.
    Through(Option<Turn>),
    /// In line.
    Waiting { client: Arc<str>, ticket: u64, called: oneshot::Receiver<Turn> },
}

impl Turnstile {
    /// So many places, of which so many of a client that is alone may begin at once, and so many requests that may wait for one.
    pub(crate) fn new(places: usize, beginning: usize, room: usize) -> Self {
        let places = places.max(1);
        let hall = Hall {
            free: places,
            places,
            share: (places / 2).max(1),
            beginning,
            came: [None, None],
            looked: Instant::now(),
            room,
            waiting: 0,
            lines: HashMap::new(),
            ring: VecDeque::new(),
            tickets: 0,
        };
        Self { hall: Arc::new(Mutex::new(hall)) }
    }

    /// Takes so many places for this client, at once or when it is its turn. More than one client may hold counts as that many.
    ///
    /// # Errors
    /// [`Full`]: too many wait.
    pub(crate) fn enter(&self, client: &str, weight: usize) -> Result<Waiter, Full> {
        let mut hall = self.lock();
        let weight = weight.clamp(1, hall.share);
        let client = hall.known(client);
        hall.comes(&client);
        if hall.is_open_to(&client, weight) {
            hall.take(&client, weight);
            drop(hall);
            let turn = self.turn(client, weight);
            return Ok(Waiter { turnstile: self.clone(), at: At::Through(Some(turn)) });
        }
        if hall.waiting >= hall.room {
            hall.forget(&client);
            return Err(Full);
        }
        let (call, called) = oneshot::channel();
        let ticket = hall.line_up(&client, Place { weight, call });
        drop(hall);
        Ok(Waiter { turnstile: self.clone(), at: At::Waiting { client, ticket, called } })
    }

    /// How it stands.
    pub(crate) fn crowd(&self) -> Crowd {
        let hall = self.lock();
        Crowd { held: hall.places - hall.free, waiting: hall.waiting }
    }

    fn lock(&self) -> MutexGuard<'_, Hall> {
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets everybody through who may go now.
    fn call_next(&self) {
        loop {
            let Some((place, client)) = self.lock().next() else { return };
            let weight = place.weight;
            let turn = self.turn(client, weight);
            // Whoever left in this moment has it given back, to be handed on here and not from within.
            if let Err(mut left) = place.call.send(turn) {
                left.hall = None;
                self.lock().give_back(&left.client, left.weight, true);
            }
        }
    }

    fn turn(&self, client: Arc<str>, weight: usize) -> Turn {
        Turn { hall: Some(Arc::clone(&self.hall)), client, weight, begins: AtomicBool::new(true) }
    }
}

impl Hall {
    fn known(&self, client: &str) -> Arc<str> {
        self.lines
            .get_key_value(client)
            .map_or_else(|| Arc::from(client), |(name, _)| Arc::clone(name))
    }

    /// Whether a client that comes now need not wait: there is room, and everybody who waits does so because of their own share.
    fn is_open_to(&self, client: &str, weight: usize) -> bool {
        let line = self.lines.get(client);
        line.is_none_or(|line| line.queue.is_empty() && self.has_room(client, line, weight))
            && self.free >= weight
            && !self.ring.iter().any(|other| self.may_go(other).is_some())
    }

    /// Whether so many more of a client may begin.
    fn has_room(&self, client: &str, line: &Line, weight: usize) -> bool {
        line.held + weight <= self.share
            && (line.beginning == 0 || line.beginning + weight <= self.beginning_of(client))
    }

    /// Places of a client that may begin at once.
    fn beginning_of(&self, client: &str) -> usize {
        let other = self.came.iter().flatten().find(|(other, _)| **other != *client);
        match other {
            Some((_, when)) if self.looked.saturating_duration_since(*when) < STAYS => {
                (self.beginning / BESIDE_OTHERS).max(1)
            }
            _ => self.beginning,
        }
    }

    fn comes(&mut self, client: &Arc<str>) {
        let [last, before] = &mut self.came;
        if last.as_ref().is_none_or(|(other, _)| other != client) {
            *before = last.take();
        }
        *last = Some((Arc::clone(client), Instant::now()));
    }

    fn take(&mut self, client: &Arc<str>, weight: usize) {
        self.free -= weight;
        let line = self.lines.entry(Arc::clone(client)).or_default();
        line.held += weight;
        line.beginning += weight;
    }

    fn give_back(&mut self, client: &Arc<str>, weight: usize, begins: bool) {
        self.free += weight;
        if let Some(line) = self.lines.get_mut(client) {
            line.held -= weight;
            line.beginning -= if begins { weight } else { 0 };
        }
        self.forget(client);
    }

    fn has_begun(&mut self, client: &Arc<str>, weight: usize) {
        if let Some(line) = self.lines.get_mut(client) {
            line.beginning -= weight;
        }
    }

    /// A client without anything here.
    fn forget(&mut self, client: &Arc<str>) {
        if self.lines.get(client).is_some_and(|line| line.held == 0 && line.queue.is_empty()) {
            self.lines.remove(client);
        }
    }

    fn line_up(&mut self, client: &Arc<str>, place: Place) -> u64 {
        self.tickets += 1;
        self.waiting += 1;
        let line = self.lines.entry(Arc::clone(client)).or_default();
        if line.queue.is_empty() {
            self.ring.push_back(Arc::clone(client));
        }
        line.queue.insert(self.tickets, place);
        self.tickets
    }

    /// Leaves the line; `false` = it was called already.
    fn leave(&mut self, client: &Arc<str>, ticket: u64) -> bool {
        let Some(line) = self.lines.get_mut(client) else { return false };
        if line.queue.remove(&ticket).is_none() {
            return false;
        }
        self.waiting -= 1;
        if line.queue.is_empty() {
            self.ring.retain(|other| other != client);
        }
        self.forget(client);
        true
    }

    /// What the first of a client's line needs, unless its own share is used up, or enough of its begin.
    fn may_go(&self, client: &str) -> Option<usize> {
        let line = self.lines.get(client)?;
        let weight = line.queue.values().next()?.weight;
        self.has_room(client, line, weight).then_some(weight)
    }

    /// Whoever is next, with its places taken. Nobody goes past a client that may go and only waits for enough free places: it would wait
    /// for ever.
    fn next(&mut self) -> Option<(Place, Arc<str>)> {
        self.looked = Instant::now();
        let (at, weight) = self
            .ring
            .iter()
            .enumerate()
            .find_map(|(at, client)| Some((at, self.may_go(client)?)))?;
        if self.free < weight {
            return None;
        }
        let client = self.ring.remove(at)?;
        let line = self.lines.get_mut(&client)?;
        let (_, place) = line.queue.pop_first()?;
        if !line.queue.is_empty() {
            self.ring.push_back(Arc::clone(&client));
        }
        self.waiting -= 1;
        self.take(&client, weight);
        Some((place, client))
    }
}

impl Turn {
    /// What it is for has begun a while ago: another one may begin.
    pub(crate) fn has_begun(&self) {
        let Some(hall) = &self.hall else { return };
        if self.begins.swap(false, Ordering::AcqRel) {
            let turnstile = Turnstile { hall: Arc::clone(hall) };
            turnstile.lock().has_begun(&self.client, self.weight);
            turnstile.call_next();
        }
    }
}

impl Future for Waiter {
    type Output = Turn;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        match &mut self.at {
            At::Through(turn) => turn.take().map_or(Poll::Pending, Poll::Ready),
            At::Waiting { called, .. } => match Pin::new(called).poll(context) {
                Poll::Ready(Ok(turn)) => {
                    self.at = At::Through(None);
                    Poll::Ready(turn)
                }
                // The line is only ever left by whoever is called or goes away.
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let At::Waiting { client, ticket, .. } = &self.at else { return };
        // A turn that was sent and not taken goes back by itself.
        let has_left = self.turnstile.lock().leave(client, *ticket);
        if has_left {
            // Somebody smaller may have stood behind it.
            self.turnstile.call_next();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(hall) = self.hall.take() else { return };
        let turnstile = Turnstile { hall };
        let begins = *self.begins.get_mut();
        turnstile.lock().give_back(&self.client, self.weight, begins);
        turnstile.call_next();
    }
}
