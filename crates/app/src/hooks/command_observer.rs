//! Observer hooks that are programs. Each has a separate queue, so that a slow one does not delay
//! the events of others; the events of one call reach the programs in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{CallId, CancellationToken, DropGuard, Event, EventKind};
use toolcrib_sandbox::process::End;

use super::{CommandHook, HookContext, hook_input, run_program};

/// Maximum number of queued events per program; further ones are dropped and reported.
const QUEUE: usize = 256;

/// The observers of one set of hooks.
pub(super) struct CommandObserver {
    told: Vec<QueuedEvent>,
    surroundings: Arc<HookContext>,
    /// The deliveries of the newest event of each call, until all of them are done.
    newest: Mutex<HashMap<CallId, Vec<CancellationToken>>>,
}

struct QueuedEvent {
    kind: EventKind,
    hook: Arc<CommandHook>,
    queue: OnceLock<mpsc::Sender<Message>>,
}

enum Message {
    Event(Box<Delivery>),
    Finish(oneshot::Sender<()>),
}

/// One event for one program.
struct Delivery {
    input: Value,
    /// Earlier deliveries for the same call, which must be done before this one.
    after: Arc<[CancellationToken]>,
    /// Reports the end of this delivery, even if it is dropped.
    done: DropGuard,
}

impl CommandObserver {
    pub(super) fn new(
        hooks: Vec<(EventKind, CommandHook)>,
        surroundings: &Arc<HookContext>,
    ) -> Self {
        let told = hooks.into_iter().map(|(kind, hook)| QueuedEvent {
            kind,
            hook: Arc::new(hook),
            queue: OnceLock::new(),
        });
        let newest = Mutex::default();
        Self { told: told.collect(), surroundings: Arc::clone(surroundings), newest }
    }

    /// Waits until all programs have received the events so far.
    pub(super) async fn finish(&self) {
        for queue in self.told.iter().filter_map(|told| told.queue.get()) {
            let (done, waiting) = oneshot::channel();
            if queue.send(Message::Finish(done)).await.is_ok() {
                let _ = waiting.await;
            }
        }
    }

    /// Returns whether any observer subscribes to this kind of event.
    pub(super) fn wants(&self, kind: EventKind) -> bool {
        self.told.iter().any(|told| told.kind == kind)
    }

    /// Queues an event for its subscribers.
    pub(super) fn enqueue(&self, event: &Event) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.retain(|_, deliveries| deliveries.iter().any(|done| !done.is_cancelled()));
        let after: Arc<[CancellationToken]> =
            newest.get(&event.call).cloned().unwrap_or_default().into();
        let mut deliveries = Vec::new();
        for told in &self.told {
            if told.kind != event.kind
                || !self.surroundings.matches_tool(&told.hook.matcher, &event.tool)
            {
                continue;
            }
            let queue = told.queue.get_or_init(|| {
                let (sender, receiver) = mpsc::channel(QUEUE);
                tokio::spawn(deliver(
                    Arc::clone(&told.hook),
                    Arc::clone(&self.surroundings),
                    receiver,
                ));
                sender
            });
            let done = CancellationToken::new();
            deliveries.push(done.clone());
            let delivery = Delivery {
                input: hook_input::event_input(event, &self.surroundings.folder),
                after: Arc::clone(&after),
                done: done.drop_guard(),
            };
            if queue.try_send(Message::Event(Box::new(delivery))).is_err() {
                self.surroundings.remark(format!(
                    "hook {} is too slow: it was not told of everything",
                    told.hook.label()
                ));
            }
        }
        if !deliveries.is_empty() {
            newest.insert(event.call, deliveries);
        }
    }
}

async fn deliver(
    hook: Arc<CommandHook>,
    surroundings: Arc<HookContext>,
    mut queue: mpsc::Receiver<Message>,
) {
    while let Some(message) = queue.recv().await {
        match message {
            Message::Event(delivery) => {
                let Delivery { input, after, done: _done } = *delivery;
                for earlier in &*after {
                    earlier.cancelled().await;
                }
                let fault = match run_program::run_hook_program(&hook, &surroundings, &input).await
                {
                    Ok(report) if report.end == End::Exited(0) => continue,
                    Ok(report) => run_program::failure_text(&report, hook.time),
                    Err(error) => error,
                };
                surroundings.remark(format!("hook {}: {fault}", hook.label()));
            }
            Message::Finish(done) => {
                let _ = done.send(());
            }
        }
    }
}
