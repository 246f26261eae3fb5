//! One run at work: its state, its newest events, and whoever looks on. A reader takes what is there at its own pace; it never holds the run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use toolcrib_app::agent::drive::Control;
use toolcrib_app::agent::events::Event;
use toolcrib_app::core::{ConversationId, RunId};
use toolcrib_app::providers::chat::UserMessage;

use super::view::{RunState, RunView};

/// Newest events that are kept for readers that were away; who misses more gets the whole state.
const KEPT: usize = 1_024;
/// Bytes of them.
const KEPT_BYTES: usize = 1024 * 1024;
/// Events that a reader takes at once.
const AT_ONCE: usize = 64;

/// One event as it goes over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Its number, from 1.
    pub(crate) seq: u64,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its JSON form.
    pub(crate) data: Arc<str>,
}

/// A run that this process works on, or has worked on and that waits.
pub(crate) struct LiveRun {
    /// The run.
    pub(crate) id: RunId,
    /// Its conversation.
    pub(crate) conversation: ConversationId,
    /// Whose it is.
    pub(crate) owner: String,
    /// What these numbers of events belong to: another process, or the same run taken up again, counts anew.
    pub(crate) series: String,
    state: Mutex<State>,
    seq: watch::Sender<u64>,
    readers: AtomicUsize,
}

struct State {
    view: Arc<RunView>,
    told: VecDeque<Told>,
    bytes: usize,
    control: Control,
    /// Fencing number under which this process drives it, or drove it last.
    epoch: u64,
    /// Whether nothing more is told here: it ended, or somebody else has it.
    over: bool,
}

/// What a reader is given.
pub(crate) enum Given {
    /// The events after the last one.
    Events(Vec<Told>),
    /// The state, because what came between is not kept.
    Snapshot(u64, Arc<RunView>),
    /// Nothing now.
    Nothing,
    /// Nothing more, ever.
    Over,
}

impl LiveRun {
    pub(super) fn new(
        id: RunId,
        conversation: ConversationId,
        owner: String,
        view: RunView,
    ) -> Self {
        let state = State {
            view: Arc::new(view),
            told: VecDeque::new(),
            bytes: 0,
            control: Control::new(),
            epoch: 0,
            over: false,
        };
        let series = format!("{:08x}", fastrand::u32(..));
        let (seq, _) = watch::channel(0);
        let (state, readers) = (Mutex::new(state), AtomicUsize::new(0));
        Self { id, conversation, owner, series, state, seq, readers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what happened; called in its order by whoever drives the run.
    pub(super) fn tell(&self, event: &Event) {
        let name = name_of(event);
        let data: Arc<str> = serde_json::to_string(event).unwrap_or_default().into();
        let mut state = self.state();
        Arc::make_mut(&mut state.view).apply(event);
        let seq = *self.seq.borrow() + 1;
        state.bytes += data.len();
        state.told.push_back(Told { seq, name, data });
        while state.told.len() > KEPT || (state.bytes > KEPT_BYTES && state.told.len() > 1) {
            let dropped = state.told.pop_front().map_or(0, |told| told.data.len());
            state.bytes -= dropped;
        }
        // Under the lock, so that nobody sees a number without its event.
        self.seq.send_replace(seq);
    }

    /// The state now.
    pub(crate) fn view(&self) -> Arc<RunView> {
        Arc::clone(&self.state().view)
    }

    /// The handle that stops it and speaks to it.
    pub(crate) fn control(&self) -> Control {
        self.state().control.clone()
    }

    /// Stops it, also one that is just being taken up.
    pub(crate) fn stop(&self) {
        self.state().control.stop();
    }

    /// Says something to it, also to one that is just being taken up.
    pub(crate) fn say(&self, message: UserMessage) {
        self.state().control.say(message);
    }

    /// A new handle: the run begins, or goes on, under this fencing number. What it was told since it was put down it is told now.
    pub(super) fn goes_on(&self, epoch: u64) -> Control {
        let control = Control::new();
        let mut state = self.state();
        let before = std::mem::replace(&mut state.control, control.clone());
        state.epoch = epoch;
        before.take().into_iter().for_each(|message| control.say(message));
        if before.is_stopped() {
            control.stop();
        }
        control
    }

    /// Whether what is stored under this fencing number is what this process left.
    pub(super) fn follows(&self, epoch: u64) -> bool {
        let state = self.state();
        state.epoch == epoch && !state.over
    }

    /// Nothing more is told here.
    pub(super) fn over(&self) {
        self.state().over = true;
        self.seq.send_modify(|_| ());
    }

    /// What comes after event `last`; `None` = the state first.
    pub(crate) fn after(&self, last: Option<u64>) -> Given {
        let state = self.state();
        let newest = *self.seq.borrow();
        let oldest = newest + 1 - state.told.len() as u64;
        let Some(last) = last.filter(|last| *last <= newest && *last + 1 >= oldest) else {
            return Given::Snapshot(newest, Arc::clone(&state.view));
        };
        let behind = usize::try_from(last + 1 - oldest).unwrap_or(usize::MAX);
        let next: Vec<Told> = state.told.iter().skip(behind).take(AT_ONCE).cloned().collect();
        match (next.is_empty(), state.over) {
            (false, _) => Given::Events(next),
            (true, true) => Given::Over,
            (true, false) => Given::Nothing,
        }
    }

    /// Says when something was told.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.seq.subscribe()
    }

    /// Waits until it is no longer worked on here.
    pub(crate) async fn settled(&self) -> Arc<RunView> {
        let mut told = self.watch();
        loop {
            {
                let state = self.state();
                if state.over || state.view.state != RunState::Running {
                    return Arc::clone(&state.view);
                }
            }
            if told.changed().await.is_err() {
                return self.view();
            }
        }
    }

    /// Whoever looks on now.
    pub(crate) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    /// A reader's seat.
    pub(crate) fn sit(self: &Arc<Self>) -> Seat {
        self.readers.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(self))
    }
}

/// A reader of a run; it is counted until it is dropped.
pub(crate) struct Seat(Arc<LiveRun>);

impl std::ops::Deref for Seat {
    type Target = LiveRun;

    fn deref(&self) -> &LiveRun {
        &self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The name of an event, as in docs/events.md.
fn name_of(event: &Event) -> &'static str {
    match event {
        Event::RunStart { .. } => "run-start",
        Event::Request { .. } => "request",
        Event::TextDelta { .. } => "text-delta",
        Event::ReasoningDelta { .. } => "reasoning-delta",
        Event::Retry { .. } => "retry",
        Event::Fallback { .. } => "fallback",
        Event::Answer { .. } => "answer",
        Event::Tool(_) => "tool",
        Event::Question { .. } => "question",
        Event::QuestionAnswered { .. } => "question-answered",
        Event::Message { .. } => "message",
        Event::Compaction { .. } => "compaction",
        Event::Trimmed { .. } => "trimmed",
        Event::Skill { .. } => "skill",
        Event::Notice { .. } => "notice",
        Event::RunPaused { .. } => "run-paused",
        Event::RunEnd { .. } => "run-end",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> LiveRun {
        LiveRun::new(RunId::fresh(), ConversationId::fresh(), String::new(), RunView::default())
    }

    fn say(live: &LiveRun, text: &str) {
        live.tell(&Event::TextDelta { text: text.to_owned() });
    }

    /// What a reader comes to that takes whatever it is given until there is nothing more.
    fn read(live: &LiveRun, mut last: Option<u64>) -> (usize, usize, Option<u64>) {
        let (mut events, mut snapshots) = (0, 0);
        loop {
            match live.after(last) {
                Given::Events(told) => {
                    events += told.len();
                    last = told.last().map(|told| told.seq);
                }
                Given::Snapshot(seq, _) => {
                    snapshots += 1;
                    last = Some(seq);
                }
                Given::Nothing | Given::Over => return (events, snapshots, last),
            }
        }
    }

    #[test]
    fn a_reader_that_was_away_too_long_gets_the_state() {
        let live = live();
        assert!(matches!(live.after(Some(0)), Given::Nothing));
        assert!(matches!(live.after(None), Given::Snapshot(0, _)));
        for _ in 0..KEPT + 10 {
            say(&live, "a");
        }
        let newest = (KEPT + 10) as u64;
        assert_eq!(read(&live, Some(0)), (0, 1, Some(newest)));
        assert_eq!(read(&live, Some(9)), (0, 1, Some(newest)));
        assert_eq!(read(&live, Some(10)), (KEPT, 0, Some(newest)));
        assert_eq!(read(&live, Some(newest)), (0, 0, Some(newest)));
        // One that says it has seen what never was.
        assert_eq!(read(&live, Some(newest + 1)), (0, 1, Some(newest)));
        live.over();
        assert!(matches!(live.after(Some(newest)), Given::Over));
        assert!(matches!(live.after(Some(newest - 1)), Given::Events(_)));
    }

    #[test]
    fn large_events_do_not_pile_up() {
        let live = live();
        let large = "x".repeat(KEPT_BYTES / 4);
        for _ in 0..20 {
            say(&live, &large);
        }
        let state = live.state();
        assert!(state.bytes <= KEPT_BYTES, "{}", state.bytes);
        assert_eq!(state.bytes, state.told.iter().map(|told| told.data.len()).sum::<usize>());
        assert!((1..4).contains(&state.told.len()));
    }

    #[test]
    fn what_a_run_is_told_while_it_is_taken_up_is_not_lost() {
        let live = live();
        let first = live.goes_on(1);
        live.say(UserMessage { text: "and the other one".into(), ..UserMessage::default() });
        live.stop();
        let next = live.goes_on(2);
        assert!(next.is_stopped() && first.take().is_empty());
        assert_eq!(next.take().pop().unwrap().text, "and the other one");
    }

    #[test]
    fn readers_are_counted_until_they_go() {
        let live = Arc::new(live());
        let seats: Vec<Seat> = (0..5).map(|_| live.sit()).collect();
        assert_eq!(live.readers(), 5);
        drop(seats);
        assert_eq!(live.readers(), 0);
    }
}
