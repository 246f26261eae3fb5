//! Fairness, order, and no lost slots, also when a waiter or a holder is dropped.

use std::collections::HashMap;
use std::task::Waker;

use proptest::prelude::*;

use super::*;

/// Slots of one client that may be starting.
const MAX_STARTING: usize = 8;

/// Returns the permit, if it was granted.
fn poll_waiter(waiter: &mut PermitWaiter) -> Option<Permit> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(waiter).poll(&mut context) {
        Poll::Ready(permit) => Some(permit),
        Poll::Pending => None,
    }
}

#[test]
fn one_client_has_at_most_half_and_a_full_queue_refuses() {
    let queue = FairQueue::new(4, MAX_STARTING, 2);
    let enter = |client| queue.acquire(client, 1);
    let mut held: Vec<Permit> =
        (0..2).map(|_| poll_waiter(&mut enter("a").ok().unwrap()).unwrap()).collect();
    let mut waits = enter("a").ok().unwrap();
    assert!(poll_waiter(&mut waits).is_none(), "half of the slots is kept for others");
    let other = poll_waiter(&mut enter("b").ok().unwrap());
    assert!(other.is_some(), "a client that waits for its own share does not block others");
    let second = enter("a").ok().unwrap();
    assert_eq!(enter("a").err(), Some(QueueFull));
    drop(second);
    assert_eq!(queue.stats(), QueueStats { held: 3, waiting: 1 });
    held.pop();
    assert!(poll_waiter(&mut waits).is_some());
}

/// Regression, found under load: thousands of quick calls of one client made the calls of others
/// take fifteen times as long.
#[test]
fn only_a_few_permits_of_a_client_start_at_once() {
    let queue = FairQueue::new(100, MAX_STARTING, 100);
    let enter = |client, weight| queue.acquire(client, weight).ok().unwrap();
    let mut held: Vec<Permit> =
        (0..MAX_STARTING).map(|_| poll_waiter(&mut enter("a", 1)).unwrap()).collect();
    let mut waits = enter("a", 1);
    assert!(poll_waiter(&mut waits).is_none());
    held[0].mark_started();
    held[0].mark_started();
    let mut next = enter("a", 1);
    held.push(poll_waiter(&mut waits).unwrap());
    assert!(poll_waiter(&mut next).is_none(), "one permit has started, once");
    drop(held.pop());
    held.push(poll_waiter(&mut next).unwrap());
    held.iter().for_each(Permit::mark_started);
    let heavy = poll_waiter(&mut enter("a", 20));
    assert!(heavy.is_some(), "a heavier request starts alone");
    assert!(poll_waiter(&mut enter("a", 1)).is_none());
    drop((heavy, held));
    assert_eq!(queue.stats(), QueueStats { held: 0, waiting: 0 });
    assert!(queue.lock().clients.is_empty());
}

/// Regression, found under load: while one client's calls kept all processors busy, the calls of
/// others waited for a time slice of the scheduler.
#[test]
fn fewer_permits_start_while_another_client_is_active() {
    let queue = FairQueue::new(100, MAX_STARTING, 100);
    let enter = |client| queue.acquire(client, 1).ok().unwrap();
    let mut held: Vec<Permit> =
        (0..MAX_STARTING).map(|_| poll_waiter(&mut enter("a")).unwrap()).collect();
    let mut waits: Vec<PermitWaiter> = (0..MAX_STARTING).map(|_| enter("a")).collect();
    assert!(poll_waiter(&mut enter("b")).is_some(), "others start");
    let fewer = MAX_STARTING / SHARED_START_DIVISOR;
    held.truncate(fewer);
    assert!(waits.iter_mut().all(|waiter| poll_waiter(waiter).is_none()));
    held.pop();
    held.push(poll_waiter(&mut waits[0]).unwrap());
    assert!(poll_waiter(&mut waits[1]).is_none());
    for (_, when) in queue.lock().recent_clients.iter_mut().flatten() {
        *when -= ACTIVE_TIME;
    }
    held.pop();
    let granted = waits.iter_mut().skip(1).filter_map(poll_waiter).count();
    assert_eq!(granted, MAX_STARTING - 1, "the other client is inactive");
}

#[test]
fn clients_are_served_round_robin() {
    let queue = FairQueue::new(2, MAX_STARTING, 100);
    let first = poll_waiter(&mut queue.acquire("greedy", 1).ok().unwrap()).unwrap();
    let second = poll_waiter(&mut queue.acquire("other", 1).ok().unwrap()).unwrap();
    let mut greedy: Vec<PermitWaiter> =
        (0..50).map(|_| queue.acquire("greedy", 1).ok().unwrap()).collect();
    let mut light = queue.acquire("light", 1).ok().unwrap();
    drop(second);
    assert!(
        poll_waiter(&mut light).is_some(),
        "it is next, though fifty requests of another client came before it"
    );
    drop(first);
    assert!(poll_waiter(&mut greedy[0]).is_some());
}

/// Light requests must not overtake a request for many slots forever.
#[test]
fn a_heavy_request_is_not_starved_by_light_ones() {
    let queue = FairQueue::new(8, MAX_STARTING, 100);
    let mut held: Vec<Permit> = ["a", "b", "a", "b", "a", "b", "a", "b"]
        .into_iter()
        .map(|client| poll_waiter(&mut queue.acquire(client, 1).ok().unwrap()).unwrap())
        .inspect(Permit::mark_started)
        .collect();
    let mut heavy = queue.acquire("c", 4).ok().unwrap();
    let mut light = queue.acquire("d", 1).ok().unwrap();
    for _ in 0..3 {
        held.pop();
        assert!(poll_waiter(&mut light).is_none() && poll_waiter(&mut heavy).is_none());
    }
    held.pop();
    let turn = poll_waiter(&mut heavy);
    assert!(turn.is_some() && poll_waiter(&mut light).is_none());
    drop(turn);
    assert!(poll_waiter(&mut light).is_some());
}

/// A permit that was sent and not received goes to the next request.
#[test]
fn a_waiter_that_is_dropped_when_it_is_granted_blocks_nothing() {
    let queue = FairQueue::new(1, MAX_STARTING, 10);
    let turn = poll_waiter(&mut queue.acquire("a", 1).ok().unwrap()).unwrap();
    let gone = queue.acquire("a", 1).ok().unwrap();
    let mut next = queue.acquire("b", 1).ok().unwrap();
    drop(turn);
    drop(gone);
    assert!(poll_waiter(&mut next).is_some());
    drop(next);
    assert_eq!(queue.stats(), QueueStats { held: 0, waiting: 0 });
    assert!(queue.lock().clients.is_empty(), "an idle client is forgotten");
}

#[tokio::test]
async fn a_waiter_is_woken_when_a_slot_becomes_free() {
    let queue = FairQueue::new(1, MAX_STARTING, 10);
    let turn = queue.acquire("a", 1).ok().unwrap().await;
    let waits = tokio::spawn(queue.acquire("b", 1).ok().unwrap());
    drop(turn);
    drop(waits.await.unwrap());
    assert_eq!(queue.stats().held, 0);
}

/// Actions of clients: request a weight, poll, mark a permit as started, drop a permit, drop a
/// waiter.
#[derive(Debug, Clone)]
enum Act {
    Acquire(u8, usize),
    Poll(usize),
    Started(usize),
    DropPermit(usize),
    DropWaiter(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..4u8, 1..6usize).prop_map(|(client, weight)| Act::Acquire(client, weight)),
        4 => any::<usize>().prop_map(Act::Poll),
        3 => any::<usize>().prop_map(Act::Started),
        3 => any::<usize>().prop_map(Act::DropPermit),
        1 => any::<usize>().prop_map(Act::DropWaiter),
    ];
    prop::collection::vec(act, 1..120)
}

/// A simulated queue. Requests are numbered, so that the order within a client can be checked.
struct Simulation {
    queue: FairQueue,
    waiting: Vec<(u8, u64, PermitWaiter)>,
    held: Vec<(u8, usize, Permit)>,
    weights: HashMap<u64, usize>,
    count: u64,
    last: HashMap<u8, u64>,
}

impl Simulation {
    fn act(&mut self, act: &Act) {
        match *act {
            Act::Acquire(client, weight) => {
                self.count += 1;
                if let Ok(waiter) = self.queue.acquire(&client.to_string(), weight) {
                    self.weights.insert(self.count, weight);
                    self.waiting.push((client, self.count, waiter));
                }
            }
            Act::Poll(at) => {
                // The oldest waiter of a client is polled first, which shows the order of grants.
                if let Some(at) = at.checked_rem(self.waiting.len()) {
                    let client = self.waiting[at].0;
                    let at = self.waiting.iter().position(|(other, ..)| *other == client).unwrap();
                    self.poll(at);
                }
            }
            Act::Started(at) => {
                if let Some(at) = at.checked_rem(self.held.len()) {
                    self.held[at].2.mark_started();
                }
            }
            Act::DropPermit(at) => {
                if let Some(at) = at.checked_rem(self.held.len()) {
                    drop(self.held.swap_remove(at));
                }
            }
            Act::DropWaiter(at) => {
                if let Some(at) = at.checked_rem(self.waiting.len()) {
                    drop(self.waiting.remove(at));
                }
            }
        }
    }

    fn poll(&mut self, at: usize) -> bool {
        let Some(turn) = poll_waiter(&mut self.waiting[at].2) else { return false };
        let (client, number, _) = self.waiting.remove(at);
        let before = self.last.insert(client, number);
        assert!(before.is_none_or(|before| before < number), "first come, first served");
        self.held.push((client, self.weights[&number], turn));
        true
    }

    /// Drops permits until all waiting requests are granted, and checks that they are.
    fn drain(&mut self) {
        while !self.waiting.is_empty() {
            self.held.clear();
            let (before, mut at) = (self.waiting.len(), 0);
            while at < self.waiting.len() {
                let client = self.waiting[at].0;
                let first = self.waiting.iter().position(|(other, ..)| *other == client);
                if first != Some(at) || !self.poll(at) {
                    at += 1;
                }
            }
            self.check();
            assert!(self.waiting.len() < before, "a request waits while no slot is held");
        }
        self.held.clear();
    }

    fn check(&self) {
        let state = self.queue.lock();
        let held: usize = state.clients.values().map(|entry| entry.held).sum();
        assert_eq!(held + state.free, state.slots);
        assert!(state.clients.values().all(|entry| entry.held <= state.client_share));
        assert!(state.clients.values().all(|entry| entry.starting <= entry.held.min(MAX_STARTING)));
        let waiting: usize = state.clients.values().map(|entry| entry.queue.len()).sum();
        assert_eq!(waiting, state.waiting);
        assert!(state.waiting <= state.max_waiting);
        let first = state.round_robin.iter().find_map(|client| state.next_weight(client));
        assert!(first.is_none_or(|weight| weight > state.free), "no request waits for free slots");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_slot_is_lost_and_every_request_is_granted(
        acts in acts(), slots in 1..40usize, max_waiting in 0..20usize,
    ) {
        let mut simulation = Simulation {
            queue: FairQueue::new(slots, MAX_STARTING, max_waiting),
            waiting: Vec::new(),
            held: Vec::new(),
            weights: HashMap::new(),
            count: 0,
            last: HashMap::new(),
        };
        for act in &acts {
            simulation.act(act);
            simulation.check();
        }
        simulation.drain();
        prop_assert_eq!(simulation.queue.stats(), QueueStats { held: 0, waiting: 0 });
        prop_assert!(simulation.queue.lock().clients.is_empty());
    }

    /// Each client gets as many turns as the others, however many requests each of them has
    /// waiting.
    #[test]
    fn clients_that_wait_have_equal_turns(backlogs in prop::collection::vec(1..30usize, 2..6)) {
        let queue = FairQueue::new(2, MAX_STARTING, 1_000);
        let mut held: Vec<Permit> = ["x", "y"]
            .map(|client| poll_waiter(&mut queue.acquire(client, 1).ok().unwrap()).unwrap())
            .into();
        let mut waiting: Vec<(usize, PermitWaiter)> = Vec::new();
        for (client, backlog) in backlogs.iter().enumerate() {
            let name = client.to_string();
            waiting.extend((0..*backlog).map(|_| (client, queue.acquire(&name, 1).ok().unwrap())));
        }
        let mut turns = vec![0; backlogs.len()];
        held.truncate(1);
        while let Some(at) = (0..waiting.len()).find(|&at| {
            poll_waiter(&mut waiting[at].1).map(|turn| held.push(turn)).is_some()
        }) {
            turns[waiting.remove(at).0] += 1;
            for (client, of_client) in turns.iter().enumerate() {
                let least = of_client + usize::from(*of_client < backlogs[client]);
                prop_assert!(turns.iter().all(|other| *other <= least || of_client == &backlogs[client]));
            }
            held.pop();
        }
        prop_assert_eq!(turns, backlogs);
    }
}
