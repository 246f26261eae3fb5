//! A chat over a pipe: every line is a message or a command, the output is plain, and the last turn
//! determines the exit code.

use std::io;
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use toolcrib_agent::driver::RunControl;
use toolcrib_agent::events::{Event, EventSink};
use toolcrib_app::runner::RunHandles;

use super::run_command::CommandOutcome;
use super::slash_command::{Line, parse};
use super::{Chat, INTERRUPTED, lock};
use crate::command::run::{print_result, runner_failure};
use crate::output::{self, Failure};
use crate::session::EventPrinter;
use crate::terminal::escape_controls;

/// Chats until the input ends; returns the exit code of the last turn.
pub(super) async fn run_piped(chat: &mut Chat, json: bool) -> Result<u8, Failure> {
    for warning in std::mem::take(&mut chat.session.warnings) {
        output::warn(&warning, json);
    }
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut code = 0;
    loop {
        let line = tokio::select! {
            line = next_line() => line?,
            _ = interrupts.recv() => return Ok(INTERRUPTED),
        };
        let Some(line) = line else { return Ok(code) };
        match parse(&line, &chat.skills()) {
            Line::Nothing => {}
            Line::Wrong(why) => {
                output::warn(&why, json);
                code = 2;
            }
            Line::Command(command) => match chat.run_command(command).await {
                Ok(CommandOutcome::Leave) => return Ok(code),
                Ok(CommandOutcome::Says(text)) if json => {
                    output::print_line(
                        &json!({"type": "command", "line": line.trim(), "text": text}).to_string(),
                    )?;
                }
                Ok(CommandOutcome::Says(text)) => output::print_line(&text)?,
                Err(failure) => {
                    output::print_failure(&failure, json);
                    code = failure.code;
                }
            },
            Line::Message(text) if chat.is_free().await.is_err() => {
                let why = format!("not said, as the run before waits or works: {}", text.trim());
                output::warn(&why, json);
            }
            Line::Message(text) => match turn(chat, &text, json, &mut interrupts).await? {
                Some(ended) => code = ended,
                None => return Ok(INTERRUPTED),
            },
        }
    }
}

/// Returns the next line of standard input; `None` at its end.
async fn next_line() -> Result<Option<String>, Failure> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|read| (read > 0).then_some(line))
    });
    let line = read.await.map_err(|error| Failure::run(error.to_string()))?;
    line.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))
}

/// Runs one turn; returns its exit code, or `None` after the second Ctrl-C.
async fn turn(
    chat: &Chat,
    text: &str,
    json: bool,
    interrupts: &mut Signal,
) -> Result<Option<u8>, Failure> {
    let session = &chat.session;
    let printer = EventPrinter::new(session.console.clone());
    let control = RunControl::new();
    let (record, shown) = (Arc::clone(&chat.record), printer.sink(json));
    let events: EventSink = Arc::new(move |event: Event| {
        lock(&record).record(&event);
        shown(event);
    });
    let person = Arc::new(session.person());
    let surfaces = RunHandles { control: control.clone(), events, person };
    let start = session.start(text, chat.conversation);
    if let Some(skill) = &start.skill {
        output::warn(&format!("skill {skill} is active for this turn"), json);
    }
    let running = session.runner.start(start, &surfaces);
    let mut running = std::pin::pin!(running);
    loop {
        tokio::select! {
            finished = &mut running => {
                return match finished.map_err(runner_failure) {
                    Ok(mut finished) => {
                        finished.text = escape_controls(&finished.text).into_owned();
                        print_result(&finished, &printer, json).map(Some)
                    }
                    Err(failure) => {
                        output::print_failure(&failure, json);
                        Ok(Some(failure.code))
                    }
                };
            }
            _ = interrupts.recv() => {
                if control.is_stopped() {
                    return Ok(None);
                }
                control.stop();
            }
        }
    }
}
