//! One run of this process: its snapshot, its latest events and its subscribers. A subscriber reads
//! at its own pace; the run never waits for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use toolcrib_agent::driver::RunControl;
use toolcrib_agent::events::Event;
use toolcrib_core::{ConversationId, RunId, RunStatus};
use toolcrib_ops::runs::RunSnapshot;
use toolcrib_providers::conversation::UserMessage;

/// Maximum number of latest events that are kept for subscribers that reconnect; a subscriber that
/// missed more gets the snapshot.
const MAX_EVENTS: usize = 1_024;
/// Maximum number of bytes of these events.
const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// Maximum number of events per read.
const READ_BATCH: usize = 64;

/// One event in the form in which it is sent.
#[derive(Debug, Clone)]
pub(crate) struct RunEvent {
    /// Sequence number, from 1.
    pub(crate) seq: u64,
    /// Name of the event.
    pub(crate) name: &'static str,
    /// The data as JSON.
    pub(crate) data: Arc<str>,
}

/// A run that this process drives, or that is paused and has subscribers here.
pub(crate) struct ActiveRun {
    /// The run.
    pub(crate) id: RunId,
    /// Its conversation.
    pub(crate) conversation: ConversationId,
    /// Its owner.
    pub(crate) owner: String,
    /// Identifies this object in event ids: another process, or the run after another process drove
    /// it, has other sequence numbers.
    pub(crate) event_series: String,
    state: Mutex<State>,
    seq: watch::Sender<u64>,
    subscribers: AtomicUsize,
}

struct State {
    view: Arc<RunSnapshot>,
    events: VecDeque<RunEvent>,
    bytes: usize,
    control: RunControl,
    /// Epoch under which this process drives the run, or last drove it.
    epoch: u64,
    /// Whether no more events will follow because the run ended or another process drives it.
    closed: bool,
}

/// The result of a read.
pub(crate) enum ReadResult {
    /// The next events.
    Events(Vec<RunEvent>),
    /// The snapshot with its sequence number, because the missed events are no longer kept.
    Snapshot(u64, Arc<RunSnapshot>),
    /// There are no events yet.
    Nothing,
    /// No more events will follow.
    Closed,
}

impl ActiveRun {
    pub(super) fn new(
        id: RunId,
        conversation: ConversationId,
        owner: String,
        view: RunSnapshot,
    ) -> Self {
        let state = State {
            view: Arc::new(view),
            events: VecDeque::new(),
            bytes: 0,
            control: RunControl::new(),
            epoch: 0,
            closed: false,
        };
        let event_series = format!("{:08x}", fastrand::u32(..));
        let (seq, _) = watch::channel(0);
        let (state, subscribers) = (Mutex::new(state), AtomicUsize::new(0));
        Self { id, conversation, owner, event_series, state, seq, subscribers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies an event; the driver calls it in order.
    pub(super) fn apply(&self, event: &Event) {
        let name = name_of(event);
        let data: Arc<str> = serde_json::to_string(event).unwrap_or_default().into();
        let mut state = self.state();
        Arc::make_mut(&mut state.view).apply(event);
        let seq = *self.seq.borrow() + 1;
        state.bytes += data.len();
        state.events.push_back(RunEvent { seq, name, data });
        while state.events.len() > MAX_EVENTS
            || (state.bytes > MAX_EVENT_BYTES && state.events.len() > 1)
        {
            let dropped = state.events.pop_front().map_or(0, |event| event.data.len());
            state.bytes -= dropped;
        }
        // Notify under the lock, so that no subscriber sees a number without its event.
        self.seq.send_replace(seq);
    }

    /// Returns the snapshot.
    pub(crate) fn view(&self) -> Arc<RunSnapshot> {
        Arc::clone(&self.state().view)
    }

    /// Returns the handle that stops the run and sends it messages.
    pub(crate) fn control(&self) -> RunControl {
        self.state().control.clone()
    }

    /// Stops the run. A run that is being resumed at the moment is stopped, too.
    pub(crate) fn stop(&self) {
        self.state().control.stop();
    }

    /// Sends the run a message. A run that is being resumed at the moment gets it, too.
    pub(crate) fn send_message(&self, message: UserMessage) {
        self.state().control.queue_message(message);
    }

    /// Starts or resumes the run under this epoch, with a new handle. Messages and a stop that
    /// arrived while it was paused are carried over.
    pub(super) fn start_epoch(&self, epoch: u64) -> RunControl {
        let control = RunControl::new();
        let mut state = self.state();
        let before = std::mem::replace(&mut state.control, control.clone());
        state.epoch = epoch;
        before.take_messages().into_iter().for_each(|message| control.queue_message(message));
        if before.is_stopped() {
            control.stop();
        }
        control
    }

    /// Returns whether this process was the last to drive the run, given its stored epoch.
    pub(super) fn is_current(&self, epoch: u64) -> bool {
        let state = self.state();
        state.epoch == epoch && !state.closed
    }

    /// Tells subscribers that no more events will follow.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.seq.send_modify(|_| ());
    }

    /// Returns the events after event `last`; the snapshot if `last` is `None` or too old.
    pub(crate) fn after(&self, last: Option<u64>) -> ReadResult {
        let state = self.state();
        let newest = *self.seq.borrow();
        let oldest = newest + 1 - state.events.len() as u64;
        let Some(last) = last.filter(|last| *last <= newest && *last + 1 >= oldest) else {
            return ReadResult::Snapshot(newest, Arc::clone(&state.view));
        };
        let behind = usize::try_from(last + 1 - oldest).unwrap_or(usize::MAX);
        let next: Vec<RunEvent> =
            state.events.iter().skip(behind).take(READ_BATCH).cloned().collect();
        match (next.is_empty(), state.closed) {
            (false, _) => ReadResult::Events(next),
            (true, true) => ReadResult::Closed,
            (true, false) => ReadResult::Nothing,
        }
    }

    /// Returns a receiver that changes with every event.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.seq.subscribe()
    }

    /// Waits until this process no longer drives the run.
    pub(crate) async fn wait_until_idle(&self) -> Arc<RunSnapshot> {
        let mut changes = self.changes();
        loop {
            {
                let state = self.state();
                if state.closed || state.view.state != RunStatus::Running {
                    return Arc::clone(&state.view);
                }
            }
            if changes.changed().await.is_err() {
                return self.view();
            }
        }
    }

    /// Returns the number of subscribers.
    pub(crate) fn subscriber_count(&self) -> usize {
        self.subscribers.load(Ordering::Relaxed)
    }

    /// Adds a subscriber.
    pub(crate) fn subscribe(self: &Arc<Self>) -> RunSubscriber {
        self.subscribers.fetch_add(1, Ordering::Relaxed);
        RunSubscriber(Arc::clone(self))
    }
}

/// A subscriber of a run; counted until it is dropped.
pub(crate) struct RunSubscriber(Arc<ActiveRun>);

impl std::ops::Deref for RunSubscriber {
    type Target = ActiveRun;

    fn deref(&self) -> &ActiveRun {
        &self.0
    }
}

impl Drop for RunSubscriber {
    fn drop(&mut self) {
        self.0.subscribers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the name of an event, as in docs/events.md.
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

    fn live() -> ActiveRun {
        ActiveRun::new(
            RunId::fresh(),
            ConversationId::fresh(),
            String::new(),
            RunSnapshot::default(),
        )
    }

    fn say(live: &ActiveRun, text: &str) {
        live.apply(&Event::TextDelta { text: text.to_owned() });
    }

    /// Reads all available events; returns the number of events, the number of snapshots, and the
    /// last sequence number.
    fn read(live: &ActiveRun, mut last: Option<u64>) -> (usize, usize, Option<u64>) {
        let (mut events, mut snapshots) = (0, 0);
        loop {
            match live.after(last) {
                ReadResult::Events(read) => {
                    events += read.len();
                    last = read.last().map(|event| event.seq);
                }
                ReadResult::Snapshot(seq, _) => {
                    snapshots += 1;
                    last = Some(seq);
                }
                ReadResult::Nothing | ReadResult::Closed => return (events, snapshots, last),
            }
        }
    }

    #[test]
    fn a_subscriber_that_missed_too_much_gets_the_snapshot() {
        let live = live();
        assert!(matches!(live.after(Some(0)), ReadResult::Nothing));
        assert!(matches!(live.after(None), ReadResult::Snapshot(0, _)));
        for _ in 0..MAX_EVENTS + 10 {
            say(&live, "a");
        }
        let newest = (MAX_EVENTS + 10) as u64;
        assert_eq!(read(&live, Some(0)), (0, 1, Some(newest)));
        assert_eq!(read(&live, Some(9)), (0, 1, Some(newest)));
        assert_eq!(read(&live, Some(10)), (MAX_EVENTS, 0, Some(newest)));
        assert_eq!(read(&live, Some(newest)), (0, 0, Some(newest)));
        // A sequence number that never existed.
        assert_eq!(read(&live, Some(newest + 1)), (0, 1, Some(newest)));
        live.close();
        assert!(matches!(live.after(Some(newest)), ReadResult::Closed));
        assert!(matches!(live.after(Some(newest - 1)), ReadResult::Events(_)));
    }

    #[test]
    fn large_events_are_bounded_by_bytes() {
        let live = live();
        let large = "x".repeat(MAX_EVENT_BYTES / 4);
        for _ in 0..20 {
            say(&live, &large);
        }
        let state = live.state();
        assert!(state.bytes <= MAX_EVENT_BYTES, "{}", state.bytes);
        assert_eq!(state.bytes, state.events.iter().map(|event| event.data.len()).sum::<usize>());
        assert!((1..4).contains(&state.events.len()));
    }

    #[test]
    fn messages_to_a_run_that_is_being_resumed_are_not_lost() {
        let live = live();
        let first = live.start_epoch(1);
        live.send_message(UserMessage {
            text: "and the other one".into(),
            ..UserMessage::default()
        });
        live.stop();
        let next = live.start_epoch(2);
        assert!(next.is_stopped() && first.take_messages().is_empty());
        assert_eq!(next.take_messages().pop().unwrap().text, "and the other one");
    }

    #[test]
    fn subscribers_are_counted_until_they_are_dropped() {
        let live = Arc::new(live());
        let subscribers: Vec<RunSubscriber> = (0..5).map(|_| live.subscribe()).collect();
        assert_eq!(live.subscriber_count(), 5);
        drop(subscribers);
        assert_eq!(live.subscriber_count(), 0);
    }
}
