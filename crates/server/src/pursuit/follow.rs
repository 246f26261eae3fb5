//! Pursues one goal: starts or finds its run, follows it, and records its end.

use std::time::Duration;

use toolcrib_app::runner::RunnerLimits;
use toolcrib_assistant::goal::{Goal, GoalEnd, GoalError, GoalStatus, pursuit_message};
use toolcrib_core::{RunId, RunStatus, StoreError, StoredRun};

use crate::daemon_host::RunRequest;
use crate::end_notice::{End, notify_end};
use crate::run_supervisor::{
    Requester, RunError, RunResult, RunSupervisor, StartOptions, run_result, start_run,
};

/// Channel of runs that no person watches.
const BACKGROUND: &str = "background";
/// Principal in records, and the client whose limits these runs share.
const PURSUIT: &str = "pursuit";
/// Interval for reading the state of the run.
const LOOK: Duration = Duration::from_millis(500);

/// Pursues a goal until its run ends or the daemon stops; returns its id.
pub(super) async fn pursue(supervisor: RunSupervisor, owner: String, goal: Goal) -> String {
    let id = goal.id.clone();
    if let Err(error) = try_pursue(&supervisor, &owner, goal).await {
        // The next read of the goals finds this one again.
        tracing::warn!(goal = %id, %error, "the goal could not be pursued");
    }
    id
}

async fn try_pursue(supervisor: &RunSupervisor, owner: &str, goal: Goal) -> Result<(), GoalError> {
    let goals = supervisor.toolcrib().goals();
    let run = match goal.run {
        Some(run) => run,
        None => match start(supervisor, owner, &goal).await {
            Ok(run) => run,
            // The next read of the goals tries again.
            Err(
                RunError::Stopping
                | RunError::ConversationBusy { .. }
                | RunError::Refused(_)
                | RunError::StartingElsewhere,
            ) => return Ok(()),
            Err(error) => {
                let end = GoalEnd { ok: false, result: error.to_string(), source: None };
                conclude(supervisor, owner, &goal, &end).await?;
                return Ok(());
            }
        },
    };
    let mut is_recorded = false;
    loop {
        let stored = supervisor.stores().runs.run(run).await?;
        let conversation = stored.as_ref().map(|stored| stored.conversation);
        if !is_recorded {
            goals.started(owner, &goal.id, run, conversation).await?;
            is_recorded = conversation.is_some();
        }
        match stored {
            Some(stored) if stored.status == RunStatus::Ended => {
                let end = end_of(supervisor, &stored).await?;
                conclude(supervisor, owner, &goal, &end).await?;
                return Ok(());
            }
            None if is_recorded || goal.run.is_some() => {
                let result = "Its conversation was deleted.".to_owned();
                let end = GoalEnd { ok: false, result, source: None };
                conclude(supervisor, owner, &goal, &end).await?;
                return Ok(());
            }
            _ => {}
        }
        if goals.get(owner, &goal.id).await?.status == GoalStatus::Cancelled
            && let Some(active) = supervisor.get(run)
        {
            active.stop();
        }
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Tells the person how the goal ended, unless they closed it, and records it: killed in between,
/// the daemon comes here again, and the notification is known by its run.
async fn conclude(
    supervisor: &RunSupervisor,
    owner: &str,
    goal: &Goal,
    end: &GoalEnd,
) -> Result<(), GoalError> {
    let goals = supervisor.toolcrib().goals();
    let now = goals.get(owner, &goal.id).await?;
    if now.status.is_open() {
        let end = End {
            owner,
            id: &now.id,
            subject: &now.goal,
            ok: end.ok,
            result: &end.result,
            untrusted: end.source.clone(),
            run: now.run,
            conversation: now.conversation,
            by: PURSUIT,
        };
        notify_end(supervisor, end).await;
    }
    goals.ended(owner, &goal.id, end).await.map(|_| ())
}

async fn start(supervisor: &RunSupervisor, owner: &str, goal: &Goal) -> Result<RunId, RunError> {
    let budget = goal.budget;
    let request = RunRequest {
        text: pursuit_message(goal),
        agent: Some(goal.agent.clone()).filter(|agent| !agent.is_empty()),
        limits: RunnerLimits {
            rounds: Some(budget.rounds),
            calls: Some(budget.calls),
            tokens: Some(budget.tokens),
            time: Some(Duration::from_secs(budget.seconds)),
            cost: None,
        },
        owner: owner.to_owned(),
        channel: BACKGROUND.to_owned(),
        depth: goal.depth + 1,
        surroundings: goal.surroundings.clone(),
        ..RunRequest::default()
    };
    let (name, client) = (PURSUIT.to_owned(), PURSUIT.to_owned());
    let requester = Requester { name, client, tools: goal.tools.clone() };
    let key = Some((goal.id.clone(), goal.id.clone()));
    let untrusted = goal.untrusted.clone();
    start_run(supervisor, StartOptions { request, requester, key, untrusted }).await
}

async fn end_of(supervisor: &RunSupervisor, run: &StoredRun) -> Result<GoalEnd, StoreError> {
    let RunResult { completed, text, untrusted } = run_result(supervisor, run).await?;
    Ok(GoalEnd { ok: completed, result: text, source: untrusted })
}
