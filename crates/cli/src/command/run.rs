//! `toolcrib run`: runs a task, and prints the answer.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use toolcrib_agent::driver::{DriveOutcome, RunControl};
use toolcrib_agent::machine::{PendingKind, RunEnd};
use toolcrib_app::runner::{RunHandles, RunReport};
use toolcrib_core::ConversationId;

use super::run_in_daemon;
use crate::clap_args::Run;
use crate::output::{self, Failure};
use crate::session::{self, EventPrinter, SessionOptions};
use crate::{bootstrap, shutdown_signal, terminal};

pub(crate) fn run(command: &Run, json: bool) -> Result<u8, Failure> {
    let task = read_task(command.task.as_deref())?;
    if command.daemon {
        return run_in_daemon::run(command, &task, json);
    }
    bootstrap::block_on(async {
        let session = session::open_session(
            &command.model_args,
            &command.workspace_args,
            SessionOptions::at_terminal(command.on_ask),
        )
        .await?;
        session.warnings.iter().for_each(|warning| output::warn(warning, json));
        let conversation = match command.conversation {
            Some(id) => session::check_continuable(&session.stores, id).await?,
            None => ConversationId::fresh(),
        };
        let printer = EventPrinter::new(session.console.clone());
        let control = RunControl::new();
        shutdown_signal::stop_on_signal(&control);
        let surfaces =
            RunHandles { control, events: printer.sink(json), person: Arc::new(session.person()) };
        let start = session.start(&task, conversation);
        let finished = session.runner.start(start, &surfaces).await;
        bootstrap::flush_hooks(&session.toolcrib).await;
        print_result(&finished.map_err(runner_failure)?, &printer, json)
    })
}

/// Returns the task from the argument or standard input.
fn read_task(given: Option<&str>) -> Result<String, Failure> {
    let text = match given {
        Some(text) if text != "-" => text.to_owned(),
        _ => String::from_utf8(output::read_stdin()?)
            .map_err(|error| Failure::usage(format!("the task is not UTF-8: {error}")))?,
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the task is empty; write what is to be done"));
    }
    Ok(text)
}

/// Prints the answer to standard output, and everything else to standard error.
pub(crate) fn print_result(
    finished: &RunReport,
    printer: &EventPrinter,
    json: bool,
) -> Result<u8, Failure> {
    let (tally, streamed) = printer.summary();
    if !json {
        if !streamed && !finished.text.is_empty() {
            // A file gets the text unchanged; on a terminal, its control characters are escaped.
            if io::stdout().is_terminal() {
                output::print_line(&terminal::escape_controls(&finished.text))?;
            } else {
                output::print_line(&finished.text)?;
            }
        }
        match &finished.driven {
            DriveOutcome::Ended(RunEnd::Failed { message, .. } | RunEnd::Budget { message }) => {
                output::eprint_line(&format!("toolcrib: {message}"));
            }
            DriveOutcome::Ended(RunEnd::Completed) => {}
            DriveOutcome::Ended(end) => {
                output::eprint_line(&format!("toolcrib: the run ended: {}", end.as_str()));
            }
            DriveOutcome::Paused(pending) => {
                for wait in pending {
                    let id = wait.approval().map(|id| format!(" ({id})")).unwrap_or_default();
                    output::eprint_line(&format!("toolcrib: {}{id}", pending_text(&wait.what)));
                }
                output::eprint_line(&format!(
                    "toolcrib: decide with `toolcrib approve`, or go on with `toolcrib resume {}`",
                    finished.run
                ));
            }
        }
    }
    Ok(tally.exit_code(&finished.driven))
}

/// Describes a pending question in one line.
pub(crate) fn pending_text(what: &PendingKind) -> String {
    match what {
        PendingKind::Approval(request) => {
            format!(
                "{} needs approval: {}",
                request.tool,
                terminal::escape_to_line(&request.summary)
            )
        }
        PendingKind::Answer(question) => {
            format!("the model asks: {}", terminal::escape_to_line(&question.question))
        }
    }
}

pub(crate) fn runner_failure(error: toolcrib_app::runner::RunnerError) -> Failure {
    use toolcrib_app::runner::RunnerError;
    let code = match &error {
        RunnerError::UnknownRun(_) => 4,
        RunnerError::NotPaused(_) => 2,
        RunnerError::Agent(_) => 3,
        RunnerError::Restore(_) | RunnerError::Drive(_) | RunnerError::Store(_) => 1,
    };
    Failure { code, message: error.to_string() }
}
