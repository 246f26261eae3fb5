//! One heartbeat: its request to the model, and the handling of the answer.

use toolcrib_app::runner::labels_of_run;
use toolcrib_assistant::heartbeat::{
    HEARTBEAT_OK, HeartbeatInput, heartbeat_prompt, is_ok, push_text,
};
use toolcrib_assistant::notify::NewNotification;
use toolcrib_assistant::task::{Ended, postpone};
use toolcrib_core::{Author, ConversationId, NotificationId, StoreError, StoredRun, Task};

use super::execution::{BACKGROUND, SCHEDULER, now, put};
use crate::daemon_host::RunRequest;
use crate::run_supervisor::RunSupervisor;

/// Title and tag of the notification: a newer report replaces an older one.
const TITLE: &str = "Heartbeat";
const TAG: &str = "heartbeat";

/// The next step of a claimed heartbeat.
pub(super) enum Beat {
    /// A run with this request, and the source of its untrusted text, if it has any.
    Ask(Box<RunRequest>, Option<String>),
    /// The heartbeat has ended without a run.
    Ended(Ended),
    /// The claim needs no further work.
    Settled,
    /// Another run is active: the heartbeat waits.
    Busy,
}

/// Decides the next step of a claimed heartbeat.
pub(super) async fn begin(supervisor: &RunSupervisor, task: &Task) -> Result<Beat, StoreError> {
    let heartbeats = supervisor.toolcrib().heartbeats();
    let failed = |error: &dyn std::fmt::Display| StoreError::Failed(error.to_string());
    if heartbeats.is_missed(task, now()).map_err(|error| failed(&error))? {
        put(supervisor, postpone(task, now()).map_err(|error| failed(&error))?).await?;
        return Ok(Beat::Settled);
    }
    // A run that has already started is found by its key.
    let has_started = task.lease.as_ref().is_some_and(|lease| lease.run.is_some());
    if !has_started && supervisor.active_count() > 0 {
        return Ok(Beat::Busy);
    }
    let input = heartbeats.input(&task.owner).await.map_err(|error| failed(&error))?;
    if input.is_empty() && !has_started {
        let result = format!("{HEARTBEAT_OK}: there is nothing to look at, so no model was asked.");
        return Ok(Beat::Ended(Ended { ok: true, result, ..Ended::default() }));
    }
    let untrusted = input.untrusted();
    Ok(Beat::Ask(Box::new(request(supervisor, task, &input)), untrusted))
}

fn request(supervisor: &RunSupervisor, task: &Task, input: &HeartbeatInput) -> RunRequest {
    RunRequest {
        text: heartbeat_prompt(input),
        model: supervisor.toolcrib().heartbeats().settings().model,
        owner: task.owner.clone(),
        channel: BACKGROUND.to_owned(),
        depth: task.depth + 1,
        ..RunRequest::default()
    }
}

/// Handles the answer: an answer without a report is discarded; a report is sent as a notification
/// and stays in its conversation.
pub(super) async fn conclude(supervisor: &RunSupervisor, run: &StoredRun, ended: Ended) -> Ended {
    let owner = &run.context.owner;
    let conversation = Some(run.conversation);
    if ended.ok && is_ok(&ended.result) {
        let ended = Ended { result: HEARTBEAT_OK.to_owned(), ..ended };
        // Questions that the run left in the inbox need its conversation.
        if asks(supervisor, run).await {
            return Ended { conversation, ..ended };
        }
        remove(supervisor, owner, run.conversation).await;
        return ended;
    }
    if !ended.ok {
        return Ended { conversation, ..ended };
    }
    let labels = labels_of_run(&*supervisor.stores().runs, run.id).await;
    let untrusted = match labels {
        Ok(labels) => labels.untrusted.map(|source| source.to_string()),
        Err(_) => Some("a run whose reading is not known".to_owned()),
    };
    let new = NewNotification {
        id: Some(NotificationId::for_event(&run.id.to_string(), run.updated_at)),
        owner: owner.clone(),
        title: TITLE.to_owned(),
        message: push_text(&ended.result),
        tag: Some(TAG.to_owned()),
        untrusted: untrusted.clone(),
        author: Author { by: SCHEDULER.to_owned(), run: Some(run.id), call: None },
        ..NewNotification::default()
    };
    if let Err(error) = supervisor.toolcrib().notifier().send(new).await {
        tracing::warn!(run = %run.id, %error, "a heartbeat could not notify");
    }
    Ended { conversation, untrusted, ..ended }
}

/// Deletes the conversations of reports that the history no longer contains.
pub(super) async fn forget_old(supervisor: &RunSupervisor, before: &Task, after: &Task) {
    let kept: Vec<_> = after.history.iter().filter_map(|one| one.conversation).collect();
    let gone = before.history.iter().filter_map(|one| one.conversation);
    for conversation in gone.filter(|conversation| !kept.contains(conversation)) {
        remove(supervisor, &before.owner, conversation).await;
    }
}

/// Returns whether a question of the run waits for a person; `true` if that cannot be read.
async fn asks(supervisor: &RunSupervisor, run: &StoredRun) -> bool {
    let conversation = run.conversation.to_string();
    match supervisor.stores().approvals.pending().await {
        Ok(pending) => pending.iter().any(|request| request.context.conversation == conversation),
        Err(_) => true,
    }
}

async fn remove(supervisor: &RunSupervisor, owner: &str, conversation: ConversationId) {
    match supervisor.toolcrib().delete_conversation(owner, conversation).await {
        Ok(()) | Err(StoreError::Missing(_)) => {}
        Err(error) => tracing::warn!(%conversation, %error, "a heartbeat's conversation stays"),
    }
}
