//! `toolcrib chat`: a conversation with a model and its tools, at a terminal or over a pipe.
//!
//! Invariants
//! - At a terminal there is one writer, the console; what a model, a tool or a file says is made visible before it gets there.
//! - A turn that is stopped keeps what was said; whoever leaves while it works loses nothing that was stored.
//! - Over a pipe there is no prompt and nothing moves: a line in, a turn, the answer out. Approvals are as in `toolcrib run`.
//!
//! What is typed while a turn works is read here, key by key, and given to the run at its next boundary; rustyline reads at the prompt only.

mod command;
mod inline;
mod lines;
mod markdown;
mod perform;
mod prompt;
mod shown;
mod turn;
mod usage;

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_app::agent::drive::Driven;
use toolcrib_app::agent::events::Event;
use toolcrib_app::core::ConversationId;

use crate::cli;
use crate::output::Failure;
use crate::session::{self, Calls, Opening, Session, go_on_in};
use crate::terminal::{Console, is_dumb};

use command::{Command, Line};
use perform::Performed;
use prompt::{Prompt, Typed};
use usage::Used;

/// Exit code of whoever leaves with Ctrl-C (DESIGN 7).
const INTERRUPTED: u8 = 130;

/// A chat.
pub(crate) struct Chat {
    session: Session,
    conversation: ConversationId,
    record: Arc<Mutex<Record>>,
}

/// What happened so far.
#[derive(Default)]
struct Record {
    calls: Calls,
    used: Used,
}

impl Record {
    fn saw(&mut self, event: &Event) {
        self.used.saw(event);
        if let Event::Tool(tool) = event {
            self.calls.saw(tool);
        }
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Talks until the person leaves or the input ends; the exit code.
pub(crate) async fn talk(command: &cli::Chat, json: bool) -> Result<u8, Failure> {
    let both = io::stdin().is_terminal() && io::stdout().is_terminal();
    let is_live = both && !json && !is_dumb();
    let console = if is_live { Console::chat() } else { Console::default() };
    let opening = Opening { on_ask: command.on_ask, console, models: None };
    let session = session::open(&command.brain, &command.world, opening).await?;
    let (conversation, messages) = conversation(command, &session).await?;
    let mut chat = Chat { session, conversation, record: Arc::default() };
    let ended = match is_live {
        true => live(&mut chat, messages).await,
        false => lines::talk(&mut chat, json).await,
    };
    crate::world::settle(&chat.session.toolcrib).await;
    ended
}

/// The conversation that is gone on with and how many messages it has, or a new one.
async fn conversation(
    command: &cli::Chat,
    session: &Session,
) -> Result<(ConversationId, usize), Failure> {
    let store = session.runner.store();
    let failed = |error: toolcrib_app::core::StoreError| Failure::run(error.to_string());
    let id = match command.conversation {
        Some(id) => id,
        None if command.newest => {
            let newest = store.conversations("", 1).await.map_err(failed)?.pop();
            let none = || Failure::not_found("there is no conversation to continue yet");
            newest.ok_or_else(none)?.id
        }
        None => return Ok((ConversationId::fresh(), 0)),
    };
    go_on_in(&session.stores, id).await?;
    Ok((id, store.messages(id, 0).await.map_err(failed)?.len()))
}

impl Chat {
    /// Whether a turn may begin: none, of whatever process, is in the middle of the conversation.
    async fn is_free(&self) -> Result<(), Failure> {
        let store = self.session.runner.store();
        let known = store.conversation(self.conversation).await;
        match known.map_err(|error| Failure::run(error.to_string()))? {
            Some(_) => go_on_in(&self.session.stores, self.conversation).await.map(|_| ()),
            None => Ok(()),
        }
    }
}

/// At a terminal.
async fn live(chat: &mut Chat, messages: usize) -> Result<u8, Failure> {
    let console = chat.session.console.clone();
    console.print(&chat.banner(messages));
    for warning in std::mem::take(&mut chat.session.warnings) {
        note(&console, &warning);
    }
    let mut prompt = Prompt::new(chat.names())?;
    let (mut initial, mut next) = (String::new(), Vec::<String>::new());
    let mut interrupted = false;
    loop {
        let line = match next.is_empty() {
            false => next.remove(0),
            true => match prompt.read(std::mem::take(&mut initial)).await? {
                Typed::Line(line) => line,
                Typed::End => return Ok(0),
                Typed::Interrupted if interrupted => return Ok(INTERRUPTED),
                Typed::Interrupted => {
                    interrupted = true;
                    note(&console, "Ctrl-C once more leaves; so do Ctrl-D and /exit");
                    continue;
                }
            },
        };
        interrupted = false;
        match command::parse(&line, &chat.skills()) {
            Line::Nothing => {}
            Line::Wrong(why) => note(&console, &why),
            Line::Command(command) => {
                let is_change = matches!(command, Command::Workspace(_));
                match chat.perform(command).await {
                    Ok(Performed::Leave) => return Ok(0),
                    Ok(Performed::Says(text)) => console.print(&text),
                    Err(failure) => note(&console, &failure.message),
                }
                if is_change {
                    prompt.complete(chat.names());
                }
            }
            Line::Message(text) => {
                if let Err(failure) = chat.is_free().await {
                    note(&console, &failure.message);
                    note(&console, "/new begins a new one here");
                    continue;
                }
                let turn = turn::run(chat, &text).await;
                if turn.left {
                    return Ok(INTERRUPTED);
                }
                initial = turn.typed;
                next.extend(turn.later);
            }
        }
    }
}

/// A remark of the chat itself.
fn note(console: &Console, text: &str) {
    let text = crate::terminal::visible(text);
    let lines: String = text.lines().map(|line| format!("· {line}\n")).collect();
    let paint = console.paint();
    console.print(&lines.lines().map(|line| format!("{}\n", paint.dim(line))).collect::<String>());
}

/// Whether a run waits for a person beyond this turn.
fn waits(driven: &Driven) -> bool {
    matches!(driven, Driven::Paused(_))
}
