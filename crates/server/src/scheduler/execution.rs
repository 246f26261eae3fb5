//! One execution of a claimed task: starts its run, follows it, and records its end.

use std::time::Duration;

use toolcrib_assistant::task::{Ended, present_event, release, renew, run_message, settle};
use toolcrib_core::{
    Clock as _, RunId, RunStatus, StoreError, StoredRun, SystemClock, Task, TaskKind, TaskStatus,
    TaskTrigger,
};

use super::heartbeat::{self, Beat};
use super::{alarm, notification};
use crate::daemon_host::RunRequest;
use crate::end_notice::{End, notify_end};
use crate::run_supervisor::{
    Requester, RunError, RunResult, RunSupervisor, StartOptions, run_result, start_run,
};

/// Channel of runs that no person watches.
pub(super) const BACKGROUND: &str = "background";
/// Name of the scheduler in records, and the client whose limits its runs share.
pub(super) const SCHEDULER: &str = "scheduler";
/// Interval for reading the state of the run.
const LOOK: Duration = Duration::from_millis(250);
/// Number of reads between two renewals of the claim: every 15 s, a quarter of the duration of a
/// claim.
const LOOKS_PER_RENEWAL: u32 = 60;
/// Milliseconds for which a task waits if its run cannot start now.
const BUSY_MS: i64 = 15_000;

/// Runs a claimed task to its end.
pub(super) async fn execute(supervisor: RunSupervisor, task: Task) {
    let id = task.id;
    if let Err(error) = try_execute(&supervisor, task).await {
        // The claim expires, and the next execution continues with the stored run.
        tracing::warn!(task = %id, %error, "the task could not be recorded");
    }
}

async fn try_execute(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    let (request, untrusted) = match task.kind {
        TaskKind::Alarm => return alarm::ring(supervisor, task).await,
        TaskKind::Notification => return notification::send(supervisor, task).await,
        TaskKind::Run => {
            let event = present_event(&task).map(|_| "the event that started this task".to_owned());
            (request(&task), event.or_else(|| task.untrusted.clone()))
        }
        TaskKind::Heartbeat => match heartbeat::begin(supervisor, &task).await? {
            Beat::Ask(request, untrusted) => (*request, untrusted),
            Beat::Ended(ended) => return finish(supervisor, task, ended).await,
            Beat::Settled => return Ok(()),
            Beat::Busy => return put(supervisor, release(&task, now(), BUSY_MS)).await,
        },
    };
    match start(supervisor, &task, request, untrusted).await {
        Ok(run) => follow(supervisor, task, run).await,
        Err(RunError::Stopping) => put(supervisor, release(&task, now(), 0)).await,
        Err(
            RunError::ConversationBusy { .. } | RunError::Refused(_) | RunError::StartingElsewhere,
        ) => put(supervisor, release(&task, now(), BUSY_MS)).await,
        Err(RunError::UnknownConversation(_)) => {
            // The person deleted the conversation: the next attempt starts a new one.
            let task = Task { conversation: None, ..task };
            put(supervisor, release(&task, now(), 0)).await
        }
        Err(error) => {
            let ended = Ended { result: error.to_string(), ..Ended::default() };
            finish(supervisor, task, ended).await
        }
    }
}

fn request(task: &Task) -> RunRequest {
    RunRequest {
        text: run_message(task, now()),
        conversation: task.conversation,
        agent: Some(task.agent.clone()).filter(|agent| !agent.is_empty()),
        owner: task.owner.clone(),
        channel: BACKGROUND.to_owned(),
        depth: task.depth + 1,
        surroundings: task.run_surroundings(),
        ..RunRequest::default()
    }
}

/// Starts the run, under an idempotency key of the task and its time or its event.
async fn start(
    supervisor: &RunSupervisor,
    task: &Task,
    request: RunRequest,
    untrusted: Option<String>,
) -> Result<RunId, RunError> {
    let lease = task.lease.as_ref();
    let due_at = lease.map_or(0, |lease| lease.due_at);
    let event = lease.and_then(|lease| lease.event.as_deref());
    let part = event.map_or_else(|| due_at.to_string(), str::to_owned);
    let key = format!("{}-{part}", task.id);
    let requester =
        Requester { name: SCHEDULER.to_owned(), client: SCHEDULER.to_owned(), tools: None };
    let key = Some((key.clone(), key));
    start_run(supervisor, StartOptions { request, requester, key, untrusted }).await
}

/// Follows the run until it ends, and renews the claim meanwhile.
async fn follow(supervisor: &RunSupervisor, mut task: Task, run: RunId) -> Result<(), StoreError> {
    let mut looks = 0;
    loop {
        let stored = supervisor.stores().runs.run(run).await?;
        if looks % LOOKS_PER_RENEWAL == 0 {
            // Each heartbeat has a separate conversation.
            let conversation = stored.as_ref().map(|stored| stored.conversation);
            let conversation = conversation.filter(|_| task.kind != TaskKind::Heartbeat);
            let renewed = Task {
                conversation: conversation.or(task.conversation),
                ..renew(&task, run, now())
            };
            match supervisor.stores().tasks.put_task(renewed.clone()).await {
                Ok(revision) => task = Task { revision, ..renewed },
                // The person changed the task, or another daemon took it over.
                Err(StoreError::Conflict(_) | StoreError::Missing(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        match stored {
            Some(stored) if stored.status == RunStatus::Ended => {
                let mut ended = ended(supervisor, &stored).await?;
                if task.kind == TaskKind::Heartbeat {
                    ended = heartbeat::conclude(supervisor, &stored, ended).await;
                }
                return finish(supervisor, task, ended).await;
            }
            // A run is stored before it starts, so this one was deleted with its conversation.
            None => {
                let ok = task.kind == TaskKind::Heartbeat;
                let result = "The conversation of this run was deleted.".to_owned();
                let ended = Ended { ok, result, run: Some(run), ..Ended::default() };
                return finish(supervisor, Task { conversation: None, ..task }, ended).await;
            }
            Some(_) => {}
        }
        looks += 1;
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => {
                return put(supervisor, release(&task, now(), 0)).await;
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn ended(supervisor: &RunSupervisor, run: &StoredRun) -> Result<Ended, StoreError> {
    let RunResult { completed, text, untrusted } = run_result(supervisor, run).await?;
    let run = Some(run.id);
    Ok(Ended { ok: completed, result: text, run, untrusted, ..Ended::default() })
}

async fn finish(supervisor: &RunSupervisor, task: Task, ended: Ended) -> Result<(), StoreError> {
    let settled = settle(&task, &ended, now())
        .map_err(|error| StoreError::Failed(format!("its schedule cannot be read: {error}")))?;
    if task.kind == TaskKind::Heartbeat {
        heartbeat::forget_old(supervisor, &task, &settled).await;
        return put(supervisor, settled).await;
    }
    let is_over = settled.status == TaskStatus::Completed;
    let will_retry = matches!(task.trigger, TaskTrigger::Time { .. }) && !is_over;
    // Before the task is settled: killed in between, the daemon comes here again, and the
    // notification is known by its run.
    if !will_retry && is_unchanged(supervisor, &task).await? {
        tell(supervisor, &task, &ended).await;
    }
    put(supervisor, settled).await
}

/// Whether neither the person nor another daemon has changed the task since it was read.
async fn is_unchanged(supervisor: &RunSupervisor, task: &Task) -> Result<bool, StoreError> {
    let stored = supervisor.stores().tasks.task(task.id).await?;
    Ok(stored.is_some_and(|stored| stored.revision == task.revision))
}

/// Notifies the person of the end of an execution of a task.
async fn tell(supervisor: &RunSupervisor, task: &Task, ended: &Ended) {
    let end = End {
        owner: &task.owner,
        id: &task.id.to_string(),
        subject: &task.description,
        ok: ended.ok,
        result: &ended.result,
        untrusted: ended.untrusted.clone().or_else(|| task.untrusted.clone()),
        run: ended.run,
        conversation: task.conversation,
        by: SCHEDULER,
    };
    notify_end(supervisor, end).await;
}

/// Writes the task, unless the person or another daemon changed it meanwhile.
pub(super) async fn put(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    match supervisor.stores().tasks.put_task(task).await {
        Ok(_) | Err(StoreError::Conflict(_) | StoreError::Missing(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn now() -> i64 {
    SystemClock.now_ms()
}
