//! `toolcrib run`: a task in, the answer out.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use toolcrib_app::agent::drive::{Control, Driven};
use toolcrib_app::agent::machine::{End, Waits};
use toolcrib_app::core::ConversationId;
use toolcrib_app::runner::{Finished, Surfaces};

use super::through;
use crate::cli::Run;
use crate::output::{self, Failure};
use crate::session::{self, Opening, Printer};
use crate::{interrupt, terminal, world};

pub(crate) fn run(command: &Run, json: bool) -> Result<u8, Failure> {
    let task = task(command.task.as_deref())?;
    if command.daemon {
        return through::run(command, &task, json);
    }
    world::block_on(async {
        let session =
            session::open(&command.brain, &command.world, Opening::at_terminal(command.on_ask))
                .await?;
        session.warnings.iter().for_each(|warning| output::remark(warning, json));
        let conversation = match command.conversation {
            Some(id) => session::go_on_in(&session.stores, id).await?,
            None => ConversationId::fresh(),
        };
        let printer = Printer::new(session.console.clone());
        let control = Control::new();
        interrupt::stops(&control);
        let surfaces =
            Surfaces { control, events: printer.sink(json), person: Arc::new(session.person()) };
        let start = session.start(&task, conversation);
        let finished = session.runner.start(start, &surfaces).await;
        world::settle(&session.toolcrib).await;
        report(&finished.map_err(failure)?, &printer, json)
    })
}

/// The task, or standard input.
fn task(given: Option<&str>) -> Result<String, Failure> {
    let text = match given {
        Some(text) if text != "-" => text.to_owned(),
        _ => String::from_utf8(output::input()?)
            .map_err(|error| Failure::usage(format!("the task is no UTF-8: {error}")))?,
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the task is empty; write what is to be done"));
    }
    Ok(text)
}

/// The answer to standard output, everything else beside it.
pub(crate) fn report(finished: &Finished, printer: &Printer, json: bool) -> Result<u8, Failure> {
    let (tally, streamed) = printer.tally();
    if !json {
        if !streamed && !finished.text.is_empty() {
            // Into a file it goes as it is; on a screen nothing of it may move the cursor.
            if io::stdout().is_terminal() {
                output::data(&terminal::visible(&finished.text))?;
            } else {
                output::data(&finished.text)?;
            }
        }
        match &finished.driven {
            Driven::Ended(End::Failed { message, .. } | End::Budget { message }) => {
                output::note(&format!("toolcrib: {message}"));
            }
            Driven::Ended(End::Completed) => {}
            Driven::Ended(end) => {
                output::note(&format!("toolcrib: the run ended: {}", end.as_str()));
            }
            Driven::Paused(pending) => {
                for wait in pending {
                    let id = wait.approval().map(|id| format!(" ({id})")).unwrap_or_default();
                    output::note(&format!("toolcrib: {}{id}", waits_for(&wait.what)));
                }
                output::note(&format!(
                    "toolcrib: decide with `toolcrib approve`, or go on with `toolcrib resume {}`",
                    finished.run
                ));
            }
        }
    }
    Ok(tally.exit_code(&finished.driven))
}

/// One line for what a run waits for.
pub(crate) fn waits_for(what: &Waits) -> String {
    match what {
        Waits::Approval(request) => {
            format!("{} needs approval: {}", request.tool, terminal::one_line(&request.summary))
        }
        Waits::Answer(question) => {
            format!("the model asks: {}", terminal::one_line(&question.question))
        }
    }
}

pub(crate) fn failure(error: toolcrib_app::runner::RunnerError) -> Failure {
    use toolcrib_app::runner::RunnerError;
    let code = match &error {
        RunnerError::UnknownRun(_) => 4,
        RunnerError::NotPaused(_) => 2,
        RunnerError::Agent(_) => 3,
        RunnerError::Restore(_) | RunnerError::Drive(_) | RunnerError::Store(_) => 1,
    };
    Failure { code, message: error.to_string() }
}
