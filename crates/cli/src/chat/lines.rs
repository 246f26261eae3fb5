//! A chat over a pipe: every line is a message or a command, the output is plain, and the last turn says how it ended.

use std::io;
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use toolcrib_app::agent::drive::Control;
use toolcrib_app::agent::events::{Event, EventSink};
use toolcrib_app::runner::Surfaces;

use super::command::{Line, parse};
use super::perform::Performed;
use super::{Chat, INTERRUPTED, lock};
use crate::command::run::{failure, report};
use crate::output::{self, Failure};
use crate::session::Printer;
use crate::terminal::visible;

/// Talks until the input ends; the exit code of the last turn.
pub(super) async fn talk(chat: &mut Chat, json: bool) -> Result<u8, Failure> {
    for warning in std::mem::take(&mut chat.session.warnings) {
        output::remark(&warning, json);
    }
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut code = 0;
    loop {
        let line = tokio::select! {
            line = next() => line?,
            _ = interrupts.recv() => return Ok(INTERRUPTED),
        };
        let Some(line) = line else { return Ok(code) };
        match parse(&line, &chat.skills()) {
            Line::Nothing => {}
            Line::Wrong(why) => {
                output::remark(&why, json);
                code = 2;
            }
            Line::Command(command) => match chat.perform(command).await {
                Ok(Performed::Leave) => return Ok(code),
                Ok(Performed::Says(text)) if json => {
                    output::data(
                        &json!({"type": "command", "line": line.trim(), "text": text}).to_string(),
                    )?;
                }
                Ok(Performed::Says(text)) => output::data(&text)?,
                Err(failure) => {
                    output::failure(&failure, json);
                    code = failure.code;
                }
            },
            Line::Message(text) if chat.is_free().await.is_err() => {
                let why = format!("not said, as the run before waits or works: {}", text.trim());
                output::remark(&why, json);
            }
            Line::Message(text) => match turn(chat, &text, json, &mut interrupts).await? {
                Some(ended) => code = ended,
                None => return Ok(INTERRUPTED),
            },
        }
    }
}

/// The next line of standard input; `None` = there is none.
async fn next() -> Result<Option<String>, Failure> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|read| (read > 0).then_some(line))
    });
    let line = read.await.map_err(|error| Failure::run(error.to_string()))?;
    line.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))
}

/// One turn; its exit code, `None` = the second Ctrl-C.
async fn turn(
    chat: &Chat,
    text: &str,
    json: bool,
    interrupts: &mut Signal,
) -> Result<Option<u8>, Failure> {
    let session = &chat.session;
    let printer = Printer::new(session.console.clone());
    let control = Control::new();
    let (record, shown) = (Arc::clone(&chat.record), printer.sink(json));
    let events: EventSink = Arc::new(move |event: Event| {
        lock(&record).saw(&event);
        shown(event);
    });
    let person = Arc::new(session.person());
    let surfaces = Surfaces { control: control.clone(), events, person };
    let start = session.start(text, chat.conversation);
    if let Some(skill) = &start.skill {
        output::remark(&format!("skill {skill} is active for this turn"), json);
    }
    let running = session.runner.start(start, &surfaces);
    let mut running = std::pin::pin!(running);
    loop {
        tokio::select! {
            finished = &mut running => {
                return match finished.map_err(failure) {
                    Ok(mut finished) => {
                        finished.text = visible(&finished.text).into_owned();
                        report(&finished, &printer, json).map(Some)
                    }
                    Err(failure) => {
                        output::failure(&failure, json);
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
