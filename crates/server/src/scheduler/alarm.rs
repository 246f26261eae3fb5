//! One ring of an alarm.

use toolcrib_assistant::notify::{MAX_MESSAGE_CHARS, NewNotification};
use toolcrib_assistant::task::{alarm_message, rung};
use toolcrib_core::{Author, NotificationId, StoreError, Task, Urgency};

use super::execution::{SCHEDULER, now, put};
use crate::run_supervisor::RunSupervisor;

/// Title of the notification.
const TITLE: &str = "Alarm";

/// Notifies the owner, even in quiet hours, and schedules the next ring in a minute.
pub(super) async fn ring(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    let message = alarm_message(&task, now());
    let due_at = task.lease.as_ref().map_or(0, |lease| lease.due_at);
    let ring = format!("{}-{due_at}-{}", task.id, task.rings);
    let new = NewNotification {
        // Killed before the ring is counted, the daemon comes here again.
        id: Some(NotificationId::for_event(&ring, due_at)),
        owner: task.owner.clone(),
        title: TITLE.to_owned(),
        message: message.chars().take(MAX_MESSAGE_CHARS).collect(),
        // Each ring replaces the previous one.
        tag: Some(task.id.to_string()),
        untrusted: task.untrusted.clone(),
        author: Author::person(SCHEDULER),
        urgency: Urgency::High,
        is_alarm: true,
        ..NewNotification::default()
    };
    if let Err(error) = supervisor.toolcrib().notifier().send(new).await {
        tracing::warn!(task = %task.id, %error, "an alarm could not notify");
    }
    let next = rung(&task, now())
        .map_err(|error| StoreError::Failed(format!("its schedule cannot be read: {error}")))?;
    put(supervisor, next).await
}
