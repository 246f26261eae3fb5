//! Delivers events to observers in the background, without blocking calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{Event, EventKind, Observer};

/// Events that wait for slow observers; more are counted and dropped.
const QUEUE: usize = 1024;
/// Time that one observer has for one event before the next observer is called.
const OBSERVER_TIMEOUT: Duration = Duration::from_secs(2);

enum Message {
    Event(Box<Event>),
    Flush(oneshot::Sender<()>),
}

/// All observers of an engine.
#[derive(Default)]
pub(crate) struct Observers {
    list: Arc<[Arc<dyn Observer>]>,
    queue: OnceLock<mpsc::Sender<Message>>,
    lost: AtomicU64,
}

impl Observers {
    pub(crate) fn new(list: Vec<Arc<dyn Observer>>) -> Self {
        Self { list: list.into(), ..Self::default() }
    }

    /// Sends an event if there are observers; `event` is only built then.
    pub(crate) fn notify(&self, kind: EventKind, event: impl FnOnce() -> Event) {
        if !self.list.iter().any(|observer| wants(&**observer, kind)) {
            return;
        }
        if self.queue().try_send(Message::Event(Box::new(event()))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn queue(&self) -> &mpsc::Sender<Message> {
        self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(QUEUE);
            tokio::spawn(deliver(Arc::clone(&self.list), receiver));
            sender
        })
    }

    /// Waits until all events so far are delivered.
    pub(crate) async fn flush(&self) {
        let Some(queue) = self.queue.get() else { return };
        let (done, waiting) = oneshot::channel();
        if queue.send(Message::Flush(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }

    /// Returns the number of events that were dropped because the queue was full.
    pub(crate) fn dropped_events(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Returns whether the observer wants the event; `false` if it panics when asked.
fn wants(observer: &dyn Observer, kind: EventKind) -> bool {
    catch_unwind(AssertUnwindSafe(|| observer.wants(kind))).unwrap_or(false)
}

async fn deliver(list: Arc<[Arc<dyn Observer>]>, mut queue: mpsc::Receiver<Message>) {
    while let Some(message) = queue.recv().await {
        match message {
            Message::Event(event) => {
                for observer in list.iter().filter(|o| wants(&***o, event.kind)) {
                    let told = AssertUnwindSafe(async { observer.observe(&event).await });
                    let _ = tokio::time::timeout(OBSERVER_TIMEOUT, told.catch_unwind()).await;
                }
            }
            Message::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}
