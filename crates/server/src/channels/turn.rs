//! The run that answers a message: starts it, follows it, and puts its answer into the outbox.

use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::{ChatPerson, Turn, WaitingMessage};
use toolcrib_channels::card_text;
use toolcrib_core::{MESSAGE_CHANNEL, RunStatus, StoreError, StoredRun, canonical_json};

use toolcrib_ops::runs::SnapshotItem;

use super::account::{Account, OWNER};
use super::commands::command;
use super::questions;
use crate::daemon_host::RunRequest;
use crate::run_supervisor::{Requester, RunError, StartOptions, start_run};

/// Characters of a hash in an idempotency key.
const KEY_CHARS: usize = 32;

/// Takes the next step towards an answer.
pub(super) async fn advance(account: &Account, user: &str) -> Result<(), RowError> {
    let mut person = account.person(user).await?;
    if person.turn.is_none() && begin(account, user).await? {
        person = account.person(user).await?;
    }
    match person.turn.clone() {
        None => Ok(()),
        Some(turn) if turn.run.is_none() => start(account, user, &person, &turn).await,
        Some(turn) => follow(account, user, &person, &turn).await,
    }
}

/// Takes the messages that wait, up to the next command or the first of another room, as the next
/// to answer.
async fn begin(account: &Account, user: &str) -> Result<bool, RowError> {
    let person = account.person(user).await?;
    let Some(first) = person.waiting.first() else { return Ok(false) };
    let is_next =
        |message: &&WaitingMessage| command(message).is_none() && message.room == first.room;
    let texts: Vec<_> = person.waiting.iter().take_while(is_next).collect();
    if texts.is_empty() {
        return Ok(false);
    }
    let state_key = account.settings.state_key();
    let hash = canonical_json::sha256_parts(&["channel", &state_key, user, &first.id]);
    let all: Vec<&str> = texts.iter().map(|message| message.text.as_str()).collect();
    let name = account.record_name(user);
    let is_owner = account.settings.owner.as_deref() == Some(user);
    let untrusted = match (is_owner, texts.iter().any(|message| message.forwarded)) {
        (true, false) => None,
        (true, true) => Some(format!("a message that {name} forwarded")),
        (false, _) => Some(format!("a message of {name}")),
    };
    let turn = Turn {
        key: format!("channel-{}", hash.get(..KEY_CHARS).unwrap_or_default()),
        room: first.room.clone(),
        text: all.join("\n\n"),
        untrusted,
        run: None,
        told: false,
    };
    let ids: Vec<&str> = texts.iter().map(|message| message.id.as_str()).collect();
    account
        .change_person(user, |person| {
            // A further message may have arrived since; it waits.
            if person.turn.is_none() {
                person.waiting.retain(|message| !ids.contains(&message.id.as_str()));
                person.turn = Some(turn.clone());
            }
        })
        .await?;
    Ok(true)
}

async fn start(
    account: &Account,
    user: &str,
    person: &ChatPerson,
    turn: &Turn,
) -> Result<(), RowError> {
    let name = account.record_name(user);
    let request = RunRequest {
        text: turn.text.clone(),
        conversation: person.conversation,
        agent: account.settings.agent.clone(),
        owner: OWNER.to_owned(),
        channel: MESSAGE_CHANNEL.to_owned(),
        ..RunRequest::default()
    };
    let options = StartOptions {
        request,
        requester: Requester { name: name.clone(), client: name, tools: None },
        key: Some((turn.key.clone(), turn.key.clone())),
        untrusted: turn.untrusted.clone(),
    };
    match start_run(&account.supervisor, options).await {
        Ok(run) => {
            let of_turn = |person: &mut ChatPerson| {
                if let Some(now) = person.turn.as_mut().filter(|now| now.key == turn.key) {
                    now.run = Some(run);
                }
            };
            account.change_and_log(user, Some("run started"), of_turn).await
        }
        // The next step tries again.
        Err(
            RunError::Stopping
            | RunError::ConversationBusy { .. }
            | RunError::Refused(_)
            | RunError::StartingElsewhere,
        ) => Ok(()),
        Err(RunError::Store(error)) => {
            tracing::warn!(%error, "a message could not be answered yet");
            Ok(())
        }
        // The owner deleted the conversation: the message starts a new one.
        Err(RunError::UnknownConversation(_)) => {
            account.change_person(user, |person| person.conversation = None).await
        }
        Err(error) => {
            tracing::warn!(channel = account.settings.id, %error, "a message starts no run");
            let secrets = &account.supervisor.toolcrib().engine().sealing().secrets;
            let words = secrets.mask(format!("Your message could not be answered: {error}"));
            end(account, user, turn, &words).await
        }
    }
}

async fn follow(
    account: &Account,
    user: &str,
    person: &ChatPerson,
    turn: &Turn,
) -> Result<(), RowError> {
    let Some(run) = turn.run else { return Ok(()) };
    let Some(stored) = account.supervisor.stores().runs.run(run).await? else {
        account.change_person(user, |person| person.conversation = None).await?;
        let words = "The conversation was deleted; your next message starts a new one.";
        return end(account, user, turn, words).await;
    };
    let conversation = Some(stored.conversation);
    if person.conversation != conversation {
        account.change_person(user, |person| person.conversation = conversation).await?;
    }
    match stored.status {
        RunStatus::Running => Ok(()),
        RunStatus::Paused => questions::ask(account, user, &turn.room, &stored).await,
        RunStatus::Ended => {
            let words = answer_of(account, &stored).await?;
            end(account, user, turn, &words).await
        }
    }
}

/// Returns the answer of an ended run.
async fn answer_of(account: &Account, stored: &StoredRun) -> Result<String, StoreError> {
    let snapshot = account.supervisor.load_snapshot(stored).await?;
    let cards = snapshot.items.iter().filter_map(|item| match item {
        SnapshotItem::Call(call) => Some(call.cards.iter().map(card_text)),
        _ => None,
    });
    let parts = cards.flatten().chain([snapshot.text.trim().to_owned()]);
    let text: Vec<String> = parts.filter(|part| !part.trim().is_empty()).collect();
    let text = text.join("\n\n");
    let status = snapshot.status.unwrap_or_default();
    let end = match (status.as_str(), &snapshot.message) {
        ("completed", _) if !text.is_empty() => return Ok(text),
        ("completed", _) => "The assistant gave no answer.".to_owned(),
        ("stopped", _) => "Stopped.".to_owned(),
        (status, Some(message)) => format!("The answer ended early ({status}): {message}"),
        (status, None) => format!("The answer ended early ({status})."),
    };
    Ok(format!("{text}\n\n{end}").trim().to_owned())
}

/// Ends the turn with its answer, in one step.
async fn end(account: &Account, user: &str, turn: &Turn, words: &str) -> Result<(), RowError> {
    account
        .change_and_log(user, Some("run ended"), |person| {
            if person.turn.as_ref().is_some_and(|now| now.key == turn.key) {
                person.turn = None;
                person.say(&turn.room, turn.key.as_str(), words);
            }
        })
        .await
}
