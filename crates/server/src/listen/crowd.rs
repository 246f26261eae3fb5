//! Who is connected: no more than there is room for. Nobody without a token keeps others out, no client takes all the room with one, and
//! there is always room for processes on the socket: that is how the owner of a crowded daemon gets in.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_app::core::CancellationToken;

/// Within this time of coming, nobody has to make room: whoever has a token has shown it by then.
const GRACE: Duration = Duration::from_secs(5);

/// Places for processes on the socket when all others are taken.
pub(super) const RESERVE: usize = 64;

/// How many may come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Over TCP and on the socket together, without the reserve.
    pub(super) all: usize,
    /// Of one client with a token.
    pub(super) of_client: usize,
    /// Of one address without one.
    pub(super) strangers: usize,
}

/// A client has as many connections as it may have: so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full(pub(crate) usize);

/// All connections.
pub(super) struct Crowd {
    room: Room,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    all: usize,
    next: u64,
    /// Those that nobody has come with a token on yet, oldest first.
    strangers: BTreeMap<u64, Stranger>,
    by_address: HashMap<IpAddr, usize>,
    by_client: HashMap<String, usize>,
}

struct Stranger {
    address: IpAddr,
    since: Instant,
    leave: CancellationToken,
}

/// A place in the crowd; given back when the last clone is dropped. In every request.
#[derive(Clone)]
pub(crate) struct Seat {
    held: Arc<Held>,
}

struct Held {
    crowd: Arc<Crowd>,
    /// `None` = a process on the socket, who is no stranger.
    number: Option<u64>,
    /// Who has shown a token on it; of several, as behind a proxy, the last one.
    client: Mutex<Option<String>>,
    leave: CancellationToken,
}

impl Crowd {
    pub(super) fn of(room: Room) -> Arc<Self> {
        Arc::new(Self { room, inside: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets one in; `None` = there is no room, and nobody who has to make some.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Seat> {
        self.enter_at(address, Instant::now())
    }

    fn enter_at(self: &Arc<Self>, address: Option<IpAddr>, now: Instant) -> Option<Seat> {
        let leave = CancellationToken::new();
        let mut inside = self.lock();
        let room = self.room.all + if address.is_none() { RESERVE } else { 0 };
        if inside.all >= room && !inside.make_room(None, now) {
            return None;
        }
        inside.all += 1;
        let number = address.map(|address| {
            let of_one = inside.by_address.get(&address).copied().unwrap_or(0);
            if of_one >= self.room.strangers {
                // Those that came just now may all have tokens; the room for everybody still bounds them.
                inside.make_room(Some(address), now);
            }
            inside.add(Stranger { address, since: now, leave: leave.clone() })
        });
        let (crowd, client) = (Arc::clone(self), Mutex::default());
        Some(Seat { held: Arc::new(Held { crowd, number, client, leave }) })
    }

    /// Tells those who have shown no token to leave.
    pub(super) fn send_strangers_away(&self) {
        let strangers = std::mem::take(&mut self.lock().strangers);
        for stranger in strangers.into_values() {
            stranger.leave.cancel();
        }
    }
}

impl Inside {
    fn add(&mut self, stranger: Stranger) -> u64 {
        self.next += 1;
        *self.by_address.entry(stranger.address).or_insert(0) += 1;
        self.strangers.insert(self.next, stranger);
        self.next
    }

    /// The oldest stranger has to leave, of this address or of any; `false` = all came just now.
    fn make_room(&mut self, address: Option<IpAddr>, now: Instant) -> bool {
        let mut strangers = self.strangers.iter();
        let oldest =
            strangers.find(|(_, one)| address.is_none_or(|address| one.address == address));
        let Some((number, _)) = oldest.filter(|(_, one)| now.duration_since(one.since) >= GRACE)
        else {
            return false;
        };
        let number = *number;
        self.take(number).is_some_and(|stranger| {
            stranger.leave.cancel();
            true
        })
    }

    fn take(&mut self, number: u64) -> Option<Stranger> {
        let stranger = self.strangers.remove(&number)?;
        one_less(&mut self.by_address, &stranger.address);
        Some(stranger)
    }
}

fn one_less<K: Eq + Hash>(counts: &mut HashMap<K, usize>, of: &K) {
    if let Some(count) = counts.get_mut(of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(of);
        }
    }
}

impl Held {
    fn client(&self) -> MutexGuard<'_, Option<String>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// This client has shown its token on it: it is no stranger any more, and counts as one of the client's.
    ///
    /// # Errors
    /// When the client has too many; then it stays what it was. Nobody on the socket ever has.
    pub(crate) fn known(&self, client: &str) -> Result<(), Full> {
        let Some(number) = self.held.number else { return Ok(()) };
        let mut counts_for = self.held.client();
        if counts_for.as_deref() == Some(client) {
            return Ok(());
        }
        let mut inside = self.held.crowd.lock();
        let most = self.held.crowd.room.of_client;
        let count = inside.by_client.entry(client.to_owned()).or_insert(0);
        if *count >= most {
            return Err(Full(most));
        }
        *count += 1;
        inside.take(number);
        if let Some(before) = counts_for.replace(client.to_owned()) {
            one_less(&mut inside.by_client, &before);
        }
        Ok(())
    }

    /// Who has shown a token on it.
    pub(super) fn client(&self) -> Option<String> {
        self.held.client().clone()
    }

    /// Resolves when it has to make room.
    pub(super) async fn told_to_leave(&self) {
        self.held.leave.cancelled().await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let client = self.client().take();
        let mut inside = self.crowd.lock();
        inside.all -= 1;
        if let Some(client) = client {
            one_less(&mut inside.by_client, &client);
        }
        if let Some(number) = self.number {
            inside.take(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    fn room(all: usize, strangers: usize) -> Room {
        Room { all, of_client: all, strangers }
    }

    fn has_to_leave(seat: &Seat) -> bool {
        seat.held.leave.is_cancelled()
    }

    #[test]
    fn strangers_make_room_the_oldest_first_and_not_at_once() {
        let (crowd, begin) = (Crowd::of(room(4, 2)), Instant::now());
        let later = begin + GRACE;
        let first = crowd.enter_at(address(1), begin).unwrap();
        let second = crowd.enter_at(address(1), begin).unwrap();
        let third = crowd.enter_at(address(1), begin).unwrap();
        assert!(!has_to_leave(&first));
        first.known("a").unwrap();
        let fourth = crowd.enter_at(address(1), later).unwrap();
        assert!(!has_to_leave(&first) && has_to_leave(&second) && !has_to_leave(&third));
        drop(second);
        let other = crowd.enter_at(address(2), later).unwrap();
        // Full: the oldest stranger goes, whoever it is, and then all came just now.
        let fifth = crowd.enter_at(address(2), later).unwrap();
        assert!(has_to_leave(&third) && !has_to_leave(&other));
        assert!(crowd.enter_at(address(3), later).is_none());
        drop((first, third, fourth, other, fifth));
        let inside = crowd.lock();
        assert!(inside.all == 0 && inside.strangers.is_empty() && inside.by_address.is_empty());
    }

    #[test]
    fn a_process_on_the_socket_is_no_stranger_and_has_a_reserve() {
        let (crowd, begin) = (Crowd::of(room(1, 1)), Instant::now());
        let known = crowd.enter_at(address(1), begin).unwrap();
        known.known("a").unwrap();
        let later = begin + GRACE;
        let seats: Vec<Seat> = (0..RESERVE).map(|_| crowd.enter_at(None, later).unwrap()).collect();
        assert!(
            crowd.enter_at(None, later).is_none() && crowd.enter_at(address(2), later).is_none()
        );
        assert!(seats.iter().all(|seat| !has_to_leave(seat) && seat.known("b").is_ok()));
    }

    #[test]
    fn no_client_takes_all_the_room() {
        let crowd = Crowd::of(Room { of_client: 2, ..room(10, 10) });
        let enter = || crowd.enter_at(address(1), Instant::now()).unwrap();
        let (first, second, third) = (enter(), enter(), enter());
        for seat in [&first, &first, &second] {
            seat.known("a").unwrap();
        }
        assert_eq!(third.known("a"), Err(Full(2)));
        assert_eq!(crowd.lock().strangers.len(), 1, "it stays a stranger");
        third.known("b").unwrap();
        // A proxy sends for many over one connection.
        first.known("b").unwrap();
        third.known("a").unwrap();
        assert_eq!(first.known("a"), Err(Full(2)));
        drop(second);
        first.known("a").unwrap();
        drop((first, third));
        assert!(crowd.lock().by_client.is_empty());
    }
}
