//! A task that notifies the person once, without a request to a model.

use toolcrib_assistant::notify::{MAX_MESSAGE_CHARS, NewNotification};
use toolcrib_assistant::task::{Ended, alarm_message, settle};
use toolcrib_core::{Author, NotificationId, StoreError, Task};

use super::execution::{SCHEDULER, now, put};
use crate::run_supervisor::RunSupervisor;

/// Maximum number of characters of a title.
const TITLE_CHARS: usize = 100;

/// Notifies the owner, except in quiet hours, and records the result.
pub(super) async fn send(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    let message = alarm_message(&task, now());
    let due_at = task.lease.as_ref().map_or(0, |lease| lease.due_at);
    let new = NewNotification {
        // Killed before the task is settled, the daemon comes here again.
        id: Some(NotificationId::for_event(&format!("{}-{due_at}", task.id), due_at)),
        owner: task.owner.clone(),
        title: task.description.chars().take(TITLE_CHARS).collect(),
        message: message.chars().take(MAX_MESSAGE_CHARS).collect(),
        tag: Some(task.id.to_string()),
        untrusted: task.untrusted.clone(),
        author: Author::person(SCHEDULER),
        ..NewNotification::default()
    };
    let sent = supervisor.toolcrib().notifier().send(new).await;
    let result = match &sent {
        Ok(_) => "The person was notified.".to_owned(),
        Err(error) => error.to_string(),
    };
    let ended = Ended { ok: sent.is_ok(), result, ..Ended::default() };
    let settled = settle(&task, &ended, now())
        .map_err(|error| StoreError::Failed(format!("its schedule cannot be read: {error}")))?;
    put(supervisor, settled).await
}
