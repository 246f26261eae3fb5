//! Observers that are programs: each has a queue of its own, so that a slow one keeps nobody waiting.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{Event, EventKind};
use toolcrib_sandbox::process::End;

use super::{CommandHook, Surroundings, context, program};

/// Events that wait for one program; more are dropped, with a remark.
const QUEUE: usize = 256;

/// The observers of one set of hooks.
pub(super) struct CommandObserver {
    told: Vec<Told>,
    surroundings: Arc<Surroundings>,
}

struct Told {
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
        surroundings: &Arc<Surroundings>,
    ) -> Self {
        let told = hooks.into_iter().map(|(kind, hook)| Told {
            kind,
            hook: Arc::new(hook),
            queue: OnceLock::new(),
        });
        Self { told: told.collect(), surroundings: Arc::clone(surroundings) }
    }

    /// Waits until all programs were told of everything so far.
    pub(super) async fn finish(&self) {
        for queue in self.told.iter().filter_map(|told| told.queue.get()) {
            let (done, waiting) = oneshot::channel();
            if queue.send(Message::Finish(done)).await.is_ok() {
                let _ = waiting.await;
            }
        }
    }

    /// Whether one of them is told of such events.
    pub(super) fn wants(&self, kind: EventKind) -> bool {
        self.told.iter().any(|told| told.kind == kind)
    }

    /// Puts an event into the queues of those that it is for.
    pub(super) fn tell(&self, event: &Event) {
        for told in &self.told {
            if told.kind != event.kind
                || !self.surroundings.is_about(&told.hook.matcher, &event.tool)
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
            let context = context::of_event(event, &self.surroundings.folder);
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
    surroundings: Arc<Surroundings>,
    mut queue: mpsc::Receiver<Message>,
) {
    while let Some(message) = queue.recv().await {
        match message {
            Message::Event(context) => {
                let fault = match program::run(&hook, &surroundings, &context).await {
                    Ok(report) if report.end == End::Exited(0) => continue,
                    Ok(report) => program::fault(&report, hook.time),
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
