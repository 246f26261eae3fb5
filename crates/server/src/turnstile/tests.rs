//! Fairness, order and nothing lost, whoever goes away when.

use std::collections::HashMap;
use std::task::Waker;

use proptest::prelude::*;

use super::*;

/// Places that may begin at once, where a test does not say.
const BEGINNING: usize = 8;

/// Whether it is its turn.
fn look(waiter: &mut Waiter) -> Option<Turn> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(waiter).poll(&mut context) {
        Poll::Ready(turn) => Some(turn),
        Poll::Pending => None,
    }
}

#[test]
fn one_client_has_at_most_half_and_too_many_are_sent_away() {
    let turnstile = Turnstile::new(4, BEGINNING, 2);
    let enter = |client| turnstile.enter(client, 1);
    let mut held: Vec<Turn> =
        (0..2).map(|_| look(&mut enter("a").ok().unwrap()).unwrap()).collect();
    let mut waits = enter("a").ok().unwrap();
    assert!(look(&mut waits).is_none(), "half of the places is kept for others");
    let other = look(&mut enter("b").ok().unwrap());
    assert!(other.is_some(), "whoever waits for a share of its own stands in nobody's way");
    let second = enter("a").ok().unwrap();
    assert_eq!(enter("a").err(), Some(Full));
    drop(second);
    assert_eq!(turnstile.crowd(), Crowd { held: 3, waiting: 1 });
    held.pop();
    assert!(look(&mut waits).is_some());
}

/// Found under load: thousands of quick calls of one client made everybody else's take fifteen times as long.
#[test]
fn only_a_few_of_a_client_begin_at_once() {
    let turnstile = Turnstile::new(100, BEGINNING, 100);
    let enter = |client, weight| turnstile.enter(client, weight).ok().unwrap();
    let mut held: Vec<Turn> = (0..BEGINNING).map(|_| look(&mut enter("a", 1)).unwrap()).collect();
    let mut waits = enter("a", 1);
    assert!(look(&mut waits).is_none());
    held[0].has_begun();
    held[0].has_begun();
    let mut next = enter("a", 1);
    held.push(look(&mut waits).unwrap());
    assert!(look(&mut next).is_none(), "one has begun, once");
    drop(held.pop());
    held.push(look(&mut next).unwrap());
    held.iter().for_each(Turn::has_begun);
    let heavy = look(&mut enter("a", 20));
    assert!(heavy.is_some(), "what is heavier begins alone");
    assert!(look(&mut enter("a", 1)).is_none());
    drop((heavy, held));
    assert_eq!(turnstile.crowd(), Crowd { held: 0, waiting: 0 });
    assert!(turnstile.lock().lines.is_empty());
}

/// Found under load: with the processors busy with one client's calls, the system let everybody else's wait for a processor.
#[test]
fn a_client_that_is_not_alone_begins_fewer() {
    let turnstile = Turnstile::new(100, BEGINNING, 100);
    let enter = |client| turnstile.enter(client, 1).ok().unwrap();
    let mut held: Vec<Turn> = (0..BEGINNING).map(|_| look(&mut enter("a")).unwrap()).collect();
    let mut waits: Vec<Waiter> = (0..BEGINNING).map(|_| enter("a")).collect();
    assert!(look(&mut enter("b")).is_some(), "others begin");
    let fewer = BEGINNING / BESIDE_OTHERS;
    held.truncate(fewer);
    assert!(waits.iter_mut().all(|waiter| look(waiter).is_none()));
    held.pop();
    held.push(look(&mut waits[0]).unwrap());
    assert!(look(&mut waits[1]).is_none());
    for (_, when) in turnstile.lock().came.iter_mut().flatten() {
        *when -= STAYS;
    }
    held.pop();
    let called = waits.iter_mut().skip(1).filter_map(look).count();
    assert_eq!(called, BEGINNING - 1, "the other one has left");
}

#[test]
fn between_clients_it_goes_round() {
    let turnstile = Turnstile::new(2, BEGINNING, 100);
    let first = look(&mut turnstile.enter("greedy", 1).ok().unwrap()).unwrap();
    let second = look(&mut turnstile.enter("other", 1).ok().unwrap()).unwrap();
    let mut greedy: Vec<Waiter> =
        (0..50).map(|_| turnstile.enter("greedy", 1).ok().unwrap()).collect();
    let mut light = turnstile.enter("light", 1).ok().unwrap();
    drop(second);
    assert!(look(&mut light).is_some(), "fifty of another client stand before it, and it is next");
    drop(first);
    assert!(look(&mut greedy[0]).is_some());
}

/// A call of many places must not be passed by small ones for ever.
#[test]
fn a_heavy_one_is_not_starved_by_light_ones() {
    let turnstile = Turnstile::new(8, BEGINNING, 100);
    let mut held: Vec<Turn> = ["a", "b", "a", "b", "a", "b", "a", "b"]
        .into_iter()
        .map(|client| look(&mut turnstile.enter(client, 1).ok().unwrap()).unwrap())
        .inspect(Turn::has_begun)
        .collect();
    let mut heavy = turnstile.enter("c", 4).ok().unwrap();
    let mut light = turnstile.enter("d", 1).ok().unwrap();
    for _ in 0..3 {
        held.pop();
        assert!(look(&mut light).is_none() && look(&mut heavy).is_none());
    }
    held.pop();
    let turn = look(&mut heavy);
    assert!(turn.is_some() && look(&mut light).is_none());
    drop(turn);
    assert!(look(&mut light).is_some());
}

/// What was called and never looked goes to the next one.
#[test]
fn whoever_goes_away_when_it_is_called_holds_nobody_up() {
    let turnstile = Turnstile::new(1, BEGINNING, 10);
    let turn = look(&mut turnstile.enter("a", 1).ok().unwrap()).unwrap();
    let gone = turnstile.enter("a", 1).ok().unwrap();
    let mut next = turnstile.enter("b", 1).ok().unwrap();
    drop(turn);
    drop(gone);
    assert!(look(&mut next).is_some());
    drop(next);
    assert_eq!(turnstile.crowd(), Crowd { held: 0, waiting: 0 });
    assert!(turnstile.lock().lines.is_empty(), "a client that is done is forgotten");
}

#[tokio::test]
async fn a_waiter_is_woken_when_a_place_comes_free() {
    let turnstile = Turnstile::new(1, BEGINNING, 10);
    let turn = turnstile.enter("a", 1).ok().unwrap().await;
    let waits = tokio::spawn(turnstile.enter("b", 1).ok().unwrap());
    drop(turn);
    drop(waits.await.unwrap());
    assert_eq!(turnstile.crowd().held, 0);
}

/// What clients do: come with a weight, look whether it is their turn, have begun, end, go away.
#[derive(Debug, Clone)]
enum Act {
    Enter(u8, usize),
    Look(usize),
    Begun(usize),
    End(usize),
    Leave(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..4u8, 1..6usize).prop_map(|(client, weight)| Act::Enter(client, weight)),
        4 => any::<usize>().prop_map(Act::Look),
        3 => any::<usize>().prop_map(Act::Begun),
        3 => any::<usize>().prop_map(Act::End),
        1 => any::<usize>().prop_map(Act::Leave),
    ];
    prop::collection::vec(act, 1..120)
}

/// A client's own number of each request, so that its order can be seen.
struct World {
    turnstile: Turnstile,
    waiting: Vec<(u8, u64, Waiter)>,
    held: Vec<(u8, usize, Turn)>,
    weights: HashMap<u64, usize>,
    count: u64,
    last: HashMap<u8, u64>,
}

impl World {
    fn act(&mut self, act: &Act) {
        match *act {
            Act::Enter(client, weight) => {
                self.count += 1;
                if let Ok(waiter) = self.turnstile.enter(&client.to_string(), weight) {
                    self.weights.insert(self.count, weight);
                    self.waiting.push((client, self.count, waiter));
                }
            }
            Act::Look(at) => {
                // Of each client the oldest looks first: so its order can be told from what it is given.
                if let Some(at) = at.checked_rem(self.waiting.len()) {
                    let client = self.waiting[at].0;
                    let at = self.waiting.iter().position(|(other, ..)| *other == client).unwrap();
                    self.look(at);
                }
            }
            Act::Begun(at) => {
                if let Some(at) = at.checked_rem(self.held.len()) {
                    self.held[at].2.has_begun();
                }
            }
            Act::End(at) => {
                if let Some(at) = at.checked_rem(self.held.len()) {
                    drop(self.held.swap_remove(at));
                }
            }
            Act::Leave(at) => {
                if let Some(at) = at.checked_rem(self.waiting.len()) {
                    drop(self.waiting.remove(at));
                }
            }
        }
    }

    fn look(&mut self, at: usize) -> bool {
        let Some(turn) = look(&mut self.waiting[at].2) else { return false };
        let (client, number, _) = self.waiting.remove(at);
        let before = self.last.insert(client, number);
        assert!(before.is_none_or(|before| before < number), "first come, first served");
        self.held.push((client, self.weights[&number], turn));
        true
    }

    /// As calls end, all that still wait have their turn.
    fn drain(&mut self) {
        while !self.waiting.is_empty() {
            self.held.clear();
            let (before, mut at) = (self.waiting.len(), 0);
            while at < self.waiting.len() {
                let client = self.waiting[at].0;
                let first = self.waiting.iter().position(|(other, ..)| *other == client);
                if first != Some(at) || !self.look(at) {
                    at += 1;
                }
            }
            self.check();
            assert!(self.waiting.len() < before, "somebody waits and nobody holds anything");
        }
        self.held.clear();
    }

    fn check(&self) {
        let hall = self.turnstile.lock();
        let held: usize = hall.lines.values().map(|line| line.held).sum();
        assert_eq!(held + hall.free, hall.places);
        assert!(hall.lines.values().all(|line| line.held <= hall.share));
        assert!(hall.lines.values().all(|line| line.beginning <= line.held.min(BEGINNING)));
        let waiting: usize = hall.lines.values().map(|line| line.queue.len()).sum();
        assert_eq!(waiting, hall.waiting);
        assert!(hall.waiting <= hall.room);
        let first = hall.ring.iter().find_map(|client| hall.may_go(client));
        assert!(first.is_none_or(|weight| weight > hall.free), "nobody waits for what is free");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_lost_and_everybody_has_a_turn(
        acts in acts(), places in 1..40usize, room in 0..20usize,
    ) {
        let mut world = World {
            turnstile: Turnstile::new(places, BEGINNING, room),
            waiting: Vec::new(),
            held: Vec::new(),
            weights: HashMap::new(),
            count: 0,
            last: HashMap::new(),
        };
        for act in &acts {
            world.act(act);
            world.check();
        }
        world.drain();
        prop_assert_eq!(world.turnstile.crowd(), Crowd { held: 0, waiting: 0 });
        prop_assert!(world.turnstile.lock().lines.is_empty());
    }

    /// However many of each client wait, each has as many turns as the others for as long as it waits.
    #[test]
    fn clients_that_wait_have_equal_turns(backlogs in prop::collection::vec(1..30usize, 2..6)) {
        let turnstile = Turnstile::new(2, BEGINNING, 1_000);
        let mut held: Vec<Turn> = ["x", "y"]
            .map(|client| look(&mut turnstile.enter(client, 1).ok().unwrap()).unwrap())
            .into();
        let mut waiting: Vec<(usize, Waiter)> = Vec::new();
        for (client, backlog) in backlogs.iter().enumerate() {
            let name = client.to_string();
            waiting.extend((0..*backlog).map(|_| (client, turnstile.enter(&name, 1).ok().unwrap())));
        }
        let mut turns = vec![0; backlogs.len()];
        held.truncate(1);
        while let Some(at) = (0..waiting.len()).find(|&at| {
            look(&mut waiting[at].1).map(|turn| held.push(turn)).is_some()
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
