//! Requests messages, and stores them with their position in one step.

use std::time::{Duration, Instant};

use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::Accepted;
use toolcrib_channels::ChannelError;

use super::account::{Account, OWNER};

/// Shortest time between two requests, even if a service asks for less.
const SHORTEST: Duration = Duration::from_millis(300);
/// First wait after a failed request; it doubles up to the longest.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// Wait after a refused token: only a person can change that.
const REFUSED: Duration = Duration::from_secs(600);
/// Wait while another program receives the messages.
const CONFLICT: Duration = Duration::from_secs(15);
/// Failed requests before that is a problem to show.
const PATIENCE: u32 = 2;

/// Receives until the daemon is told to stop.
pub(super) async fn receive(account: &Account) {
    let shutdown = account.supervisor.shutdown_token();
    let mut failures = 0_u32;
    loop {
        let started = Instant::now();
        let wait = tokio::select! {
            () = shutdown.cancelled() => return,
            wait = receive_once(account, &mut failures) => wait,
        };
        let wait = wait.max(SHORTEST.saturating_sub(started.elapsed()));
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Sends one request; returns the wait until the next.
async fn receive_once(account: &Account, failures: &mut u32) -> Duration {
    match try_receive(account).await {
        Ok(Ok(())) => {
            *failures = 0;
            Duration::ZERO
        }
        Ok(Err(error)) => {
            *failures = failures.saturating_add(1);
            report(account, *failures, &error).await;
            match error {
                ChannelError::Token { .. } | ChannelError::NoToken(_) => REFUSED,
                ChannelError::Conflict { .. } => CONFLICT,
                ChannelError::Wait { wait, .. } => wait,
                _ => RETRY.saturating_mul(1 << (*failures - 1).min(10)).min(LONGEST_RETRY),
            }
        }
        Err(error) => {
            tracing::warn!(channel = account.settings.id, %error, "messages were not stored");
            RETRY
        }
    }
}

async fn try_receive(account: &Account) -> Result<Result<(), ChannelError>, RowError> {
    let cursor = account.state().await?.cursor;
    let batch = match account.channel.receive(cursor.as_deref()).await {
        Ok(batch) => batch,
        Err(error) => return Ok(Err(error)),
    };
    let is_allowed = |user: &str| account.settings.allows(user);
    let key = account.settings.state_key();
    let states = account.states();
    let accepted = states.accept(OWNER, &key, (cursor.as_deref(), &batch), is_allowed).await?;
    if !batch.events.is_empty() {
        account.received.notify_one();
    }
    refuse(account, accepted).await;
    Ok(Ok(()))
}

async fn report(account: &Account, failures: u32, error: &ChannelError) {
    // A connection that is lost now and then is no news; one that does not come back is.
    if error.is_passing() && failures < PATIENCE {
        return;
    }
    tracing::warn!(channel = account.settings.id, %error, "a channel cannot be read");
    let (states, key) = (account.states(), account.settings.state_key());
    if let Err(error) = states.record_problem(OWNER, &key, &error.to_string()).await {
        tracing::warn!(%error, "the problem of a channel was not stored");
    }
}

/// Tells people who are not on the list so, once; a failure changes nothing.
async fn refuse(account: &Account, accepted: Accepted) {
    for refusal in accepted.refusals {
        let words = format!(
            "I answer only people on my list. Your id is {}; the owner can add it.",
            refusal.user
        );
        let key = format!("refusal-{}", refusal.user);
        if let Err(error) = account.channel.send_text(&refusal.room, &words, &key).await {
            tracing::debug!(channel = account.settings.id, %error, "a refusal was not sent");
        }
    }
    for press in accepted.foreign_presses {
        let _ = account.channel.acknowledge(&press, "This button is not for you.").await;
    }
}
