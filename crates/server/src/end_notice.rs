//! Notifies the person that a task or goal has ended, or waits for a decision.
//!
//! Invariants
//! - One notification for a task or goal: a newer one replaces it.
//! - One for the end of a run, also if a daemon is killed before it has recorded that end, or if
//!   several daemons follow the run.
//! - None for a run that has notified the person itself.

use toolcrib_assistant::notify::{MAX_TITLE_CHARS, NewNotification, NotifyError};
use toolcrib_core::{Author, ConversationId, NotificationId, RunId, StoreError};

use crate::run_supervisor::RunSupervisor;

/// Maximum number of characters of a result's first line.
const LINE_CHARS: usize = 300;

/// The outcome of a task or goal.
pub(crate) struct End<'a> {
    /// Owner.
    pub(crate) owner: &'a str,
    /// Id of the task or goal, used as the tag of the notification.
    pub(crate) id: &'a str,
    /// Purpose of the task or goal.
    pub(crate) subject: &'a str,
    /// Whether the task or goal succeeded.
    pub(crate) ok: bool,
    /// The answer, or the reason for its absence.
    pub(crate) result: &'a str,
    /// The source that makes the answer untrusted text.
    pub(crate) untrusted: Option<String>,
    /// The run of the task or goal.
    pub(crate) run: Option<RunId>,
    /// The conversation of the run.
    pub(crate) conversation: Option<ConversationId>,
    /// Sender of the notification.
    pub(crate) by: &'a str,
}

/// Notifies the owner. A notification that cannot be sent has no further effect.
pub(crate) async fn notify_end(supervisor: &RunSupervisor, end: End<'_>) {
    let id = end.id;
    if let Err(error) = try_notify(supervisor, &end).await {
        tracing::warn!(%id, %error, "the end of a task or goal was not notified");
    }
}

async fn try_notify(supervisor: &RunSupervisor, end: &End<'_>) -> Result<(), NotifyError> {
    let notifier = supervisor.toolcrib().notifier();
    if end.run.is_some() {
        let all = notifier.list(end.owner).await?;
        // Counts the run's own calls, not an earlier notification of this kind.
        if all.iter().any(|one| one.author.run == end.run && one.author.call.is_some()) {
            return Ok(());
        }
    }
    let waits = asks(supervisor, end.conversation).await?;
    let new = NewNotification {
        id: event_id(supervisor, end.run).await?,
        owner: end.owner.to_owned(),
        title: title(end, waits),
        message: first_line(end.result),
        tag: Some(end.id.to_owned()),
        link: end.conversation.map(|conversation| format!("#/chat/{conversation}")),
        untrusted: end.untrusted.clone(),
        author: Author { by: end.by.to_owned(), run: end.run, call: None },
        ..NewNotification::default()
    };
    match notifier.send(new.clone()).await {
        Err(NotifyError::Secret) => {
            let message = "Its answer is in its conversation.".to_owned();
            notifier.send(NewNotification { message, ..new }).await.map(|_| ())
        }
        sent => sent.map(|_| ()),
    }
}

/// Id of the notification about the end of a run. A stored run does not change after its end.
async fn event_id(
    supervisor: &RunSupervisor,
    run: Option<RunId>,
) -> Result<Option<NotificationId>, StoreError> {
    let Some(run) = run else { return Ok(None) };
    let stored = supervisor.stores().runs.run(run).await?;
    Ok(stored.map(|stored| NotificationId::for_event(&run.to_string(), stored.updated_at)))
}

/// Whether a question of its run waits in the inbox.
async fn asks(
    supervisor: &RunSupervisor,
    conversation: Option<ConversationId>,
) -> Result<bool, StoreError> {
    let Some(conversation) = conversation.map(|id| id.to_string()) else { return Ok(false) };
    let pending = supervisor.stores().approvals.pending().await?;
    Ok(pending.iter().any(|request| request.context.conversation == conversation))
}

fn title(end: &End<'_>, waits: bool) -> String {
    let how = match (waits, end.ok) {
        (true, _) => "Waits for you",
        (false, true) => "Done",
        (false, false) => "Failed",
    };
    let subject = end.subject.lines().next().unwrap_or_default();
    let title = format!("{how}: {subject}");
    title.chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect()
}

fn first_line(result: &str) -> String {
    let line = result.lines().map(str::trim).find(|line| !line.is_empty());
    let line: String =
        line.unwrap_or("It gave no answer.").chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= LINE_CHARS {
        return line;
    }
    line.chars().take(LINE_CHARS).chain(['…']).collect()
}
