//! Observer hooks that are programs. Each has its own queue, so a slow one delays nothing else.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{Event, EventKind};
use toolcrib_sandbox::process::End;

use super::{CommandHook, HookContext, hook_input, run_program};

/// Events queued per program; further ones are dropped and reported.
const QUEUE: usize = 256;

/// The observers of one set of hooks.
pub(super) struct CommandObserver {
    told: Vec<QueuedEvent>,
    surroundings: Arc<HookContext>,
}

struct QueuedEvent {
    kind: EventKind,
    hook: Arc<CommandHook>,
    queue: OnceLock<mpsc::Sender<Message>>,
}

enum Message {
    Event(Value),
    Finish(oneshot::Sender<()>),
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
        Self { told: told.collect(), surroundings: Arc::clone(surroundings) }
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

    /// Whether any observer subscribes to this kind of event.
    pub(super) fn wants(&self, kind: EventKind) -> bool {
        self.told.iter().any(|told| told.kind == kind)
    }

    /// Queues an event for its subscribers.
    pub(super) fn enqueue(&self, event: &Event) {
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
            let context = hook_input::event_input(event, &self.surroundings.folder);
            if queue.try_send(Message::Event(context)).is_err() {
                self.surroundings.remark(format!(
                    "hook {} is too slow: it was not told of everything",
                    told.hook.label()
                ));
            }
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
            Message::Event(context) => {
                let fault =
                    match run_program::run_hook_program(&hook, &surroundings, &context).await {
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
