//! `toolcrib chat`: a conversation with a model and its tools, at a terminal or over a pipe.
//!
//! Invariants
//! - At a terminal, the console is the only writer; control characters in text of models, tools and
//!   files are escaped before they reach it.
//! - A stopped turn keeps its text; leaving during a turn loses no stored data.
//! - Over a pipe, there is no prompt and no animation: a line starts a turn, and the answer is
//!   printed. Approvals are as in `toolcrib run`.
//!
//! Text that is typed during a turn is read here, key by key, and passed to the run after its
//! current step; rustyline reads only at the prompt.

mod line_editor;
mod markdown;
mod markdown_inline;
mod piped;
mod run_command;
mod slash_command;
mod terminal_turn;
mod token_usage;
mod turn_renderer;

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_agent::driver::DriveOutcome;
use toolcrib_agent::events::Event;
use toolcrib_core::ConversationId;

use crate::clap_args;
use crate::output::Failure;
use crate::session::{self, CallTable, Session, SessionOptions, check_continuable};
use crate::terminal::{Console, is_dumb_terminal};

use line_editor::{LineEditor, LineInput};
use run_command::CommandOutcome;
use slash_command::{Command, Line};
use token_usage::TokenUsage;

/// Exit code after Ctrl-C: 128 + SIGINT, as shells report it.
const INTERRUPTED: u8 = 130;

/// A chat.
pub(crate) struct Chat {
    session: Session,
    conversation: ConversationId,
    record: Arc<Mutex<ChatRecord>>,
}

/// The record of the chat so far.
#[derive(Default)]
struct ChatRecord {
    calls: CallTable,
    used: TokenUsage,
}

impl ChatRecord {
    fn record(&mut self, event: &Event) {
        self.used.record(event);
        if let Event::Tool(tool) = event {
            self.calls.record(tool);
        }
    }
}

fn lock(record: &Mutex<ChatRecord>) -> MutexGuard<'_, ChatRecord> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Chats until the person leaves or the input ends; returns the exit code.
pub(crate) async fn run(command: &clap_args::Chat, json: bool) -> Result<u8, Failure> {
    let both = io::stdin().is_terminal() && io::stdout().is_terminal();
    let is_live = both && !json && !is_dumb_terminal();
    let console = if is_live { Console::chat() } else { Console::default() };
    let opening = SessionOptions { on_ask: command.on_ask, console, models: None };
    let session =
        session::open_session(&command.model_args, &command.workspace_args, opening).await?;
    let (conversation, messages) = conversation(command, &session).await?;
    let mut chat = Chat { session, conversation, record: Arc::default() };
    let ended = match is_live {
        true => run_interactive(&mut chat, messages).await,
        false => piped::run_piped(&mut chat, json).await,
    };
    crate::bootstrap::flush_hooks(&chat.session.toolcrib).await;
    ended
}

/// Returns the conversation to continue with its number of messages, or a new one.
async fn conversation(
    command: &clap_args::Chat,
    session: &Session,
) -> Result<(ConversationId, usize), Failure> {
    let store = session.runner.store();
    let id = match command.conversation {
        Some(id) => id,
        None if command.newest => {
            let newest = store.conversations("", 1).await?.pop();
            let none = || Failure::not_found("there is no conversation to continue yet");
            newest.ok_or_else(none)?.id
        }
        None => return Ok((ConversationId::fresh(), 0)),
    };
    check_continuable(&session.stores, id).await?;
    Ok((id, store.messages(id, 0).await?.len()))
}

impl Chat {
    /// Checks that a turn may start: no process has an unfinished turn in the conversation.
    async fn is_free(&self) -> Result<(), Failure> {
        let store = self.session.runner.store();
        let known = store.conversation(self.conversation).await;
        match known.map_err(|error| Failure::run(error.to_string()))? {
            Some(_) => check_continuable(&self.session.stores, self.conversation).await.map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Chats at a terminal.
async fn run_interactive(chat: &mut Chat, messages: usize) -> Result<u8, Failure> {
    let console = chat.session.console.clone();
    console.print(&chat.banner(messages));
    for warning in std::mem::take(&mut chat.session.warnings) {
        note(&console, &warning);
    }
    let mut prompt = LineEditor::new(chat.names())?;
    let (mut initial, mut next) = (String::new(), Vec::<String>::new());
    let mut interrupted = false;
    loop {
        let line = match next.is_empty() {
            false => next.remove(0),
            true => match prompt.read(std::mem::take(&mut initial)).await? {
                LineInput::Line(line) => line,
                LineInput::End => return Ok(0),
                LineInput::Interrupted if interrupted => return Ok(INTERRUPTED),
                LineInput::Interrupted => {
                    interrupted = true;
                    note(&console, "Ctrl-C once more leaves; so do Ctrl-D and /exit");
                    continue;
                }
            },
        };
        interrupted = false;
        match slash_command::parse(&line, &chat.skills()) {
            Line::Nothing => {}
            Line::Wrong(why) => note(&console, &why),
            Line::Command(command) => {
                let is_change = matches!(command, Command::Workspace(_));
                match chat.run_command(command).await {
                    Ok(CommandOutcome::Leave) => return Ok(0),
                    Ok(CommandOutcome::Says(text)) => console.print(&text),
                    Err(failure) => note(&console, &failure.message),
                }
                if is_change {
                    prompt.set_completions(chat.names());
                }
            }
            Line::Message(text) => {
                if let Err(failure) = chat.is_free().await {
                    note(&console, &failure.message);
                    note(&console, "/new begins a new one here");
                    continue;
                }
                let turn = terminal_turn::run_turn(chat, &text).await;
                if turn.left {
                    return Ok(INTERRUPTED);
                }
                initial = turn.typed;
                next.extend(turn.later);
            }
        }
    }
}

/// Prints a note of the chat itself.
fn note(console: &Console, text: &str) {
    let text = crate::terminal::escape_controls(text);
    let lines: String = text.lines().map(|line| format!("· {line}\n")).collect();
    let paint = console.paint();
    console.print(&lines.lines().map(|line| format!("{}\n", paint.dim(line))).collect::<String>());
}

/// Returns whether a run waits for a person beyond this turn.
fn is_paused(driven: &DriveOutcome) -> bool {
    matches!(driven, DriveOutcome::Paused(_))
}
