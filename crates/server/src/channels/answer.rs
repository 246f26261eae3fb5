//! Does what is to be done for each person, one small step at a time, so that a slow run of one
//! person does not delay the others.

use std::time::Duration;

use futures_util::future::join_all;
use toolcrib_assistant::RowError;

use super::account::Account;
use super::{commands, outbox, questions, turn};

/// Time between two steps while something is to be done, and otherwise.
const LOOK: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_secs(5);

/// Answers until the daemon is told to stop.
pub(super) async fn answer(account: &Account) {
    let shutdown = account.supervisor.shutdown_token();
    loop {
        let has_work = match step(account).await {
            Ok(has_work) => has_work,
            Err(error) => {
                tracing::warn!(channel = account.settings.id, %error, "people wait for answers");
                true
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = account.received.notified() => {}
            () = tokio::time::sleep(if has_work { LOOK } else { IDLE }) => {}
        }
    }
}

/// Does one step for each person; returns whether something is left to be done.
async fn step(account: &Account) -> Result<bool, RowError> {
    let state = account.state().await?;
    // What was to be done for people who were taken from the list waits until they are on it again.
    let busy: Vec<&String> = state
        .people
        .iter()
        .filter(|(user, person)| person.has_work() && account.settings.allows(user))
        .map(|(user, _)| user)
        .collect();
    let done = join_all(busy.iter().map(|user| step_of(account, user))).await;
    done.into_iter().collect::<Result<(), RowError>>()?;
    Ok(!busy.is_empty())
}

async fn step_of(account: &Account, user: &str) -> Result<(), RowError> {
    questions::decide_presses(account, user).await?;
    commands::handle(account, user).await?;
    turn::advance(account, user).await?;
    questions::refresh(account, user).await?;
    outbox::send(account, user).await
}
