//! Who is connected: no more than there is room for, and nobody without a token keeps others out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_app::core::CancellationToken;

/// Within this time of coming, nobody has to make room: whoever has a token has shown it by then.
const GRACE: Duration = Duration::from_secs(5);

/// All connections.
pub(super) struct Crowd {
    room: usize,
    strangers_of_one: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    all: usize,
    next: u64,
    /// Those that nobody has come with a token on yet, oldest first.
    strangers: BTreeMap<u64, Stranger>,
    by_address: HashMap<IpAddr, usize>,
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
    leave: CancellationToken,
}

impl Crowd {
    /// Room for this many, and for this many strangers of one address.
    pub(super) fn of(room: usize, strangers_of_one: usize) -> Arc<Self> {
        Arc::new(Self { room, strangers_of_one, inside: Mutex::default() })
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
        if inside.all >= self.room && !inside.make_room(None, now) {
            return None;
        }
        inside.all += 1;
        let number = address.map(|address| {
            let of_one = inside.by_address.get(&address).copied().unwrap_or(0);
            if of_one >= self.strangers_of_one {
                // Those that came just now may all have tokens; the room for everybody still bounds them.
                inside.make_room(Some(address), now);
            }
            inside.add(Stranger { address, since: now, leave: leave.clone() })
        });
        Some(Seat { held: Arc::new(Held { crowd: Arc::clone(self), number, leave }) })
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
        if let Some(count) = self.by_address.get_mut(&stranger.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&stranger.address);
            }
        }
        Some(stranger)
    }
}

impl Seat {
    /// It has shown a token: it is no stranger any more.
    pub(crate) fn known(&self) {
        if let Some(number) = self.held.number {
            self.held.crowd.lock().take(number);
        }
    }

    /// Resolves when it has to make room.
    pub(super) async fn told_to_leave(&self) {
        self.held.leave.cancelled().await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut inside = self.crowd.lock();
        inside.all -= 1;
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

    fn has_to_leave(seat: &Seat) -> bool {
        seat.held.leave.is_cancelled()
    }

    #[test]
    fn strangers_make_room_the_oldest_first_and_not_at_once() {
        let (crowd, begin) = (Crowd::of(4, 2), Instant::now());
        let later = begin + GRACE;
        let first = crowd.enter_at(address(1), begin).unwrap();
        let second = crowd.enter_at(address(1), begin).unwrap();
        let third = crowd.enter_at(address(1), begin).unwrap();
        assert!(!has_to_leave(&first));
        first.known();
        let fourth = crowd.enter_at(address(1), later).unwrap();
        assert!(!has_to_leave(&first) && has_to_leave(&second) && !has_to_leave(&third));
        drop(second);
        let other = crowd.enter_at(address(2), later).unwrap();
        // Full: the oldest stranger goes, whoever it is, and then all came just now.
        let fifth = crowd.enter_at(address(2), later).unwrap();
        assert!(has_to_leave(&third) && !has_to_leave(&other));
        assert!(crowd.enter_at(address(3), later).is_none());
        assert!(crowd.enter_at(None, later).is_none());
        drop((first, third, fourth, other, fifth));
        let inside = crowd.lock();
        assert!(inside.all == 0 && inside.strangers.is_empty() && inside.by_address.is_empty());
    }

    #[test]
    fn a_process_on_the_socket_is_no_stranger() {
        let crowd = Crowd::of(1, 1);
        let seat = crowd.enter_at(None, Instant::now()).unwrap();
        assert!(crowd.enter_at(None, Instant::now() + GRACE).is_none());
        assert!(!has_to_leave(&seat));
    }
}
