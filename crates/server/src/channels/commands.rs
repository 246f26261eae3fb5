//! Commands of people: `/new`, `/stop`, `/status` and `/help`.

use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::{ChatPerson, WaitingMessage};
use toolcrib_core::{RunId, RunStatus};

use super::account::Account;
use crate::run_supervisor::{ResumeOptions, RunError, RunSupervisor, resume_run};

const HELP: &str = "Write a message, and the assistant answers.\n/new starts a new conversation.\n/stop stops the answer that is being worked on.\n/status says what is going on.";

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    New,
    Stop,
    Status,
    Help,
}

/// Returns the command of a message; a message that begins like a path is none.
pub(super) fn command(message: &WaitingMessage) -> Option<Command> {
    // Telegram adds the name of the bot where there are several.
    let word = message.text.trim().to_lowercase();
    let word = word.split_once('@').map_or(word.as_str(), |(word, _)| word);
    match word {
        "/new" => Some(Command::New),
        "/stop" => Some(Command::Stop),
        "/status" => Some(Command::Status),
        "/help" | "/start" => Some(Command::Help),
        _ => None,
    }
}

/// Handles the commands that wait. `/new` is handled in its place among the messages; the others at
/// once.
pub(super) async fn handle(account: &Account, user: &str) -> Result<(), RowError> {
    let person = account.person(user).await?;
    let run = person.turn.as_ref().and_then(|turn| turn.run);
    for (at, message) in person.waiting.iter().enumerate() {
        match command(message) {
            None => {}
            Some(Command::Help) => reply(account, user, message, HELP, |_| {}).await?,
            Some(Command::Status) => {
                let words = status(account, &person).await;
                reply(account, user, message, &words, |_| {}).await?;
            }
            Some(Command::Stop) => {
                if let Some(run) = run {
                    stop(account, run).await;
                }
                let words = match (&person.turn, run) {
                    // The answer of the stopped run says that it is stopped.
                    (_, Some(_)) => "",
                    (Some(_), None) => "Stopped.",
                    (None, None) => "Nothing is being worked on.",
                };
                let drops = |person: &mut ChatPerson| {
                    person.waiting.retain(|one| command(one).is_some());
                    // A message whose run could not start yet is given up.
                    person.turn = person.turn.take().filter(|turn| turn.run.is_some());
                };
                reply(account, user, message, words, drops).await?;
            }
            Some(Command::New) if person.turn.is_some() => {
                if let Some(run) = run {
                    stop(account, run).await;
                }
            }
            Some(Command::New) if at == 0 => {
                let words = "A new conversation starts with your next message.";
                reply(account, user, message, words, |person| person.conversation = None).await?;
            }
            Some(Command::New) => {}
        }
    }
    Ok(())
}

/// Takes a command from the messages, and answers it.
async fn reply(
    account: &Account,
    user: &str,
    message: &WaitingMessage,
    words: &str,
    change: impl Fn(&mut ChatPerson),
) -> Result<(), RowError> {
    account
        .change_person(user, |person| {
            person.waiting.retain(|one| one.id != message.id);
            change(person);
            if !words.is_empty() {
                person.say(&message.room, message.id.as_str(), words);
            }
        })
        .await
}

async fn status(account: &Account, person: &ChatPerson) -> String {
    let texts = person.waiting.iter().filter(|one| command(one).is_none()).count();
    let waiting = match texts {
        0 => String::new(),
        1 => " One message waits.".to_owned(),
        many => format!(" {many} messages wait."),
    };
    let Some(turn) = &person.turn else { return format!("Nothing is being worked on.{waiting}") };
    let stored = match turn.run {
        Some(run) => account.supervisor.stores().runs.run(run).await.ok().flatten(),
        None => None,
    };
    let what = match stored.map(|stored| stored.status) {
        Some(RunStatus::Paused) => "Your message waits for a decision.",
        _ => "Your message is being worked on.",
    };
    format!("{what}{waiting}")
}

/// Stops a run. If that fails, the person can say it again.
async fn stop(account: &Account, run: RunId) {
    if let Err(error) = try_stop(&account.supervisor, run).await {
        tracing::warn!(%run, %error, "a run could not be stopped");
    }
}

async fn try_stop(supervisor: &RunSupervisor, run: RunId) -> Result<(), RunError> {
    if supervisor.is_driving(run)
        && let Some(active) = supervisor.get(run)
    {
        active.stop();
        return Ok(());
    }
    let Some(stored) = supervisor.stores().runs.run(run).await? else { return Ok(()) };
    if stored.status != RunStatus::Ended {
        let options = ResumeOptions { stop: true, ..ResumeOptions::default() };
        resume_run(supervisor, stored, options).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Command>) {
        let message = WaitingMessage {
            id: String::new(),
            room: String::new(),
            text: text.to_owned(),
            forwarded: false,
        };
        assert_eq!(command(&message), expected, "{text}");
    }

    #[test]
    fn only_a_word_alone_is_a_command() {
        check("/new", Some(Command::New));
        check(" /Stop@my_bot ", Some(Command::Stop));
        check("/start", Some(Command::Help));
        check("/new things", None);
        check("/etc/hosts", None);
        check("new", None);
    }
}
