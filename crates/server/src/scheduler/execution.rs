//! One execution of a claimed task: starts its run, follows it, and records how it ended.

use std::time::Duration;

use toolcrib_app::assistant::task::{Ended, release, renew, run_message, settle};
use toolcrib_app::core::{Clock as _, RunId, RunStatus, StoreError, StoredRun, SystemClock, Task};

use crate::daemon_host::RunRequest;
use crate::run_supervisor::{
    Requester, RunError, RunSupervisor, StartOptions, load_snapshot, start_run,
};

/// Channel of runs that nobody watches.
const BACKGROUND: &str = "background";
/// Name of the scheduler in records, and the client whose limits its runs share.
const SCHEDULER: &str = "scheduler";
/// Time between two looks at the run.
const LOOK: Duration = Duration::from_millis(250);
/// Looks between two renewals of the claim: every 15 s, a quarter of what it holds.
const LOOKS_PER_RENEWAL: u32 = 60;
/// How long a task waits whose run cannot start now, in milliseconds.
const BUSY_MS: i64 = 15_000;
/// How an answered run ends.
const DONE: &str = "completed";

/// Runs a claimed task to its end.
pub(super) async fn execute(supervisor: RunSupervisor, task: Task) {
    let id = task.id;
    if let Err(error) = try_execute(&supervisor, task).await {
        // The claim ends by itself, and the execution goes on from its run.
        tracing::warn!(task = %id, %error, "the task could not be recorded");
    }
}

async fn try_execute(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    match start(supervisor, &task).await {
        Ok(run) => follow(supervisor, task, run).await,
        Err(RunError::Stopping) => put(supervisor, release(&task, now(), 0)).await,
        Err(
            RunError::ConversationBusy { .. } | RunError::Refused(_) | RunError::StartingElsewhere,
        ) => put(supervisor, release(&task, now(), BUSY_MS)).await,
        Err(RunError::UnknownConversation(_)) => {
            // The person deleted it: the next attempt begins another one.
            let task = Task { conversation: None, ..task };
            put(supervisor, release(&task, now(), 0)).await
        }
        Err(error) => {
            finish(supervisor, task, Ended { ok: false, result: error.to_string(), run: None })
                .await
        }
    }
}

async fn start(supervisor: &RunSupervisor, task: &Task) -> Result<RunId, RunError> {
    let due_at = task.lease.as_ref().map_or(0, |lease| lease.due_at);
    let key = format!("{}-{due_at}", task.id);
    let request = RunRequest {
        text: run_message(task, now()),
        conversation: task.conversation,
        agent: Some(task.agent.clone()).filter(|agent| !agent.is_empty()),
        owner: task.owner.clone(),
        channel: BACKGROUND.to_owned(),
        ..RunRequest::default()
    };
    let requester =
        Requester { name: SCHEDULER.to_owned(), client: SCHEDULER.to_owned(), tools: None };
    start_run(supervisor, StartOptions { request, requester, key: Some((key.clone(), key)) }).await
}

/// Follows the run until it ends, and renews the claim meanwhile.
async fn follow(supervisor: &RunSupervisor, mut task: Task, run: RunId) -> Result<(), StoreError> {
    let mut looks = 0;
    loop {
        let stored = supervisor.stores().runs.run(run).await?;
        if looks % LOOKS_PER_RENEWAL == 0 {
            let conversation = stored.as_ref().map(|stored| stored.conversation);
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
                let ended = ended(supervisor, &stored).await?;
                return finish(supervisor, task, ended).await;
            }
            _ => {}
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
    let snapshot = load_snapshot(supervisor, run).await?;
    let status = snapshot.status.unwrap_or_default();
    let result = match snapshot.message {
        Some(message) if snapshot.text.is_empty() => format!("{status}: {message}"),
        _ => snapshot.text,
    };
    Ok(Ended { ok: status == DONE, result, run: Some(run.id) })
}

async fn finish(supervisor: &RunSupervisor, task: Task, ended: Ended) -> Result<(), StoreError> {
    let settled = settle(&task, &ended, now())
        .map_err(|error| StoreError::Failed(format!("its schedule cannot be read: {error}")))?;
    put(supervisor, settled).await
}

/// Writes the task, unless the person or another daemon changed it meanwhile.
async fn put(supervisor: &RunSupervisor, task: Task) -> Result<(), StoreError> {
    match supervisor.stores().tasks.put_task(task).await {
        Ok(_) | Err(StoreError::Conflict(_) | StoreError::Missing(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn now() -> i64 {
    SystemClock.now_ms()
}
