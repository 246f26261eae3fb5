//! `toolcrib resume`: resumes a run that waits for a person, or whose process has died.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_agent::driver::RunControl;
use toolcrib_agent::machine::{PendingKind, QuestionAnswer};
use toolcrib_app::Stores;
use toolcrib_app::runner::RunHandles;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, RunStatus, StoredRun,
    SystemClock,
};
use toolcrib_ops::runs::{self, WaitingRun};
use toolcrib_ops::{OpError, StoreContext, calls};

use super::approve::decisions;
use super::run::{pending_text, print_result, runner_failure};
use super::run_in_daemon;
use crate::clap_args::Resume;
use crate::config::OnAsk;
use crate::json_document::with_members;
use crate::op_failure::from_op_error;
use crate::output::{self, Failure};
use crate::session::{
    self, CommandLineDecision, EventPrinter, RunSetup, SessionOptions, TerminalPerson,
};
use crate::terminal::Console;
use crate::{bootstrap, op_context, os_user, shutdown_signal};

pub(crate) fn run(command: &Resume, json: bool) -> Result<u8, Failure> {
    if let (true, Some(run)) = (command.daemon, &command.run) {
        return run_in_daemon::resume(run, json);
    }
    let mut prepared = decision_from_args(command)?;
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let ctx = op_context::for_stores(&stores);
        if command.list {
            return list(&runs::waiting(&ctx).await?, json);
        }
        let run = match &command.run {
            Some(id) => find_run(&ctx, id).await?,
            None => single_run(runs::waiting(&ctx).await?)?,
        };
        if run.status == RunStatus::Running && runs::has_live_worker(&stores, &run).await? {
            return decide_for_active_run(&stores, &run, &prepared, json).await;
        }
        let open = runs::open_questions(&ctx, &run).await?;
        let meant = check_single_match(&prepared, open.iter().map(|wait| (wait.call, &wait.what)))?;
        prepared.call = prepared.call.or(meant);
        resume_run(run, prepared, OnAskChoice { said: command.on_ask, otherwise: None }, json).await
    })
}

async fn find_run(ctx: &StoreContext<'_>, text: &str) -> Result<StoredRun, Failure> {
    let failure = |error| from_op_error(error, "resume --list");
    let id = match text.trim().parse() {
        Ok(id) => id,
        Err(_) => calls::resolve_run(ctx, text).await.map_err(failure)?,
    };
    match runs::find(ctx, id).await {
        Err(OpError::NotFound { .. }) => Err(Failure::not_found(format!(
            "there is no run {id}; `toolcrib resume --list` lists waiting runs"
        ))),
        found => found.map_err(failure),
    }
}

fn decision_from_args(command: &Resume) -> Result<CommandLineDecision, Failure> {
    let person = TerminalPerson::new(Console::default(), command.on_ask);
    let mut prepared = CommandLineDecision::none(person);
    prepared.call = command.call;
    if let Some(text) = &command.answer {
        prepared.question_answer = Some(QuestionAnswer::Answered { text: text.clone() });
    }
    if command.skip {
        prepared.question_answer = Some(QuestionAnswer::Skipped);
        prepared.decision = Some(Decision::Skip);
    }
    if command.approve {
        prepared.decision = Some(Decision::approve());
    }
    if let Some(note) = &command.deny {
        let note = Some(note.clone()).filter(|note| !note.is_empty());
        prepared.decision = Some(Decision::Deny { note });
    }
    if let Some(text) = &command.args {
        let args = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("--args is not valid JSON: {error}")))?;
        prepared.decision = Some(Decision::Edit { args });
    }
    Ok(prepared)
}

fn single_run(mut waiting: Vec<WaitingRun>) -> Result<StoredRun, Failure> {
    match (waiting.pop(), waiting.len()) {
        (Some(run), 0) => Ok(run.stored),
        (None, _) => Err(Failure::not_found("no run waits for a person")),
        (Some(_), more) => Err(Failure::usage(format!(
            "{} runs wait; `toolcrib resume --list` lists them; pass the id of one",
            more + 1
        ))),
    }
}

/// Returns the waiting call that the decision is about, if there is one. A decision is about one
/// call: it must not decide a later question of the run.
fn check_single_match<'a>(
    prepared: &CommandLineDecision,
    waiting: impl Iterator<Item = (CallId, &'a PendingKind)>,
) -> Result<Option<CallId>, Failure> {
    let is_meant = |what: &PendingKind| match what {
        PendingKind::Approval(_) => prepared.decision.is_some(),
        PendingKind::Answer(_) => prepared.question_answer.is_some(),
    };
    let meant: Vec<_> = waiting.filter(|(_, what)| is_meant(what)).collect();
    match prepared.call {
        Some(call) if !meant.is_empty() && meant.iter().all(|(id, _)| *id != call) => {
            Err(Failure::not_found(format!("no call {call} waits in this run")))
        }
        None if meant.len() > 1 => {
            let each =
                meant.iter().map(|(call, what)| format!("\n  {call}  {}", pending_text(what)));
            let each: String = each.collect();
            Err(Failure::usage(format!("several calls wait; choose one with --call:{each}")))
        }
        _ => Ok(meant.first().map(|(call, _)| *call)),
    }
}

fn list(waiting: &[WaitingRun], json: bool) -> Result<u8, Failure> {
    if json {
        let rows =
            waiting.iter().map(|run| with_members(run, json!({"since": run.row.updated_at})));
        output::print_json(&rows.collect::<Value>(), true)?;
        return Ok(0);
    }
    if waiting.is_empty() {
        output::eprint_line("toolcrib: no run waits for a person");
    }
    for WaitingRun { waiting, stored, .. } in waiting {
        let left = match stored.status {
            RunStatus::Running => "  unfinished, its process has ended",
            RunStatus::Paused | RunStatus::Ended => "",
        };
        output::print_line(&format!("{}{left}", stored.id))?;
        for wait in waiting {
            output::print_line(&format!("  {}  {}", wait.call, pending_text(&wait.what)))?;
        }
    }
    Ok(0)
}

/// Stores a decision for a run that a process drives.
async fn decide_for_active_run(
    stores: &Stores,
    run: &StoredRun,
    prepared: &CommandLineDecision,
    json: bool,
) -> Result<u8, Failure> {
    let open = stores.approvals.pending().await?;
    let open: Vec<_> = open.into_iter().filter(|request| request.run == Some(run.id)).collect();
    if open.is_empty() {
        return Err(Failure::usage(format!(
            "the run {} is running and does not wait for a person",
            run.id
        )));
    }
    let open: Vec<_> = open
        .into_iter()
        .filter(|request| prepared.call.is_none_or(|call| call == request.call))
        .collect();
    let meant: Vec<_> = open.iter().map(|request| (request.call, pending_kind(request))).collect();
    check_single_match(prepared, meant.iter().map(|(call, what)| (*call, what)))?;
    let decided: Vec<_> =
        open.iter().filter_map(|request| Some((request, decision(prepared, request)?))).collect();
    if decided.is_empty() {
        let what: Vec<String> =
            open.iter().map(|request| pending_text(&pending_kind(request))).collect();
        return Err(Failure {
            code: 6,
            message: format!(
                "{}; decide with --approve, --deny, --skip or --answer",
                what.join("; ")
            ),
        });
    }
    let sealing = bootstrap::sealing()?;
    for (request, decision) in decided {
        let record = DecisionRecord {
            decision,
            decided_by: os_user::current_user(),
            decided_at: SystemClock.now_ms(),
        };
        match decisions(stores, &sealing).record(request.id, record).await {
            Ok(_) => {
                output::warn(&format!("decided {}; its process continues", request.tool), json);
            }
            Err(DecideError::AlreadyDecided(first)) => output::warn(
                &format!("{} was already decided by {}", request.tool, first.decided_by),
                json,
            ),
            Err(DecideError::Expired) => {
                output::warn(&format!("the deadline for {} has passed", request.tool), json);
            }
            Err(error) => return Err(Failure::run(error.to_string())),
        }
    }
    Ok(0)
}

fn pending_kind(request: &ApprovalRequest) -> PendingKind {
    match &request.question {
        Some(question) => PendingKind::Answer(question.clone()),
        None => PendingKind::Approval(Box::new(request.clone())),
    }
}

/// Returns the decision about this question from the command line.
fn decision(prepared: &CommandLineDecision, request: &ApprovalRequest) -> Option<Decision> {
    if request.question.is_none() {
        return prepared.decision.clone();
    }
    prepared.question_answer.as_ref().map(|said| match said {
        QuestionAnswer::Answered { text } => Decision::Answer { text: text.clone() },
        QuestionAnswer::Skipped | QuestionAnswer::Expired => Decision::Skip,
    })
}

/// Resumes a run with decisions that were made elsewhere; its other questions are asked here, if
/// there is a terminal.
pub(super) async fn resume_decided(run: StoredRun, json: bool) -> Result<u8, Failure> {
    let person = TerminalPerson::new(Console::default(), None);
    let prepared = CommandLineDecision::none(person);
    // Without a terminal, its further questions wait in the inbox, too.
    let otherwise = Some(OnAsk::Fail).filter(|_| !Console::default().has_person());
    resume_run(run, prepared, OnAskChoice { said: None, otherwise }, json).await
}

/// The handling of a resumed run's further calls that need approval.
struct OnAskChoice {
    /// The option of the command line. Without it, the option with which the run was started
    /// applies.
    said: Option<OnAsk>,
    /// The handling if neither is set.
    otherwise: Option<OnAsk>,
}

async fn resume_run(
    run: StoredRun,
    mut prepared: CommandLineDecision,
    on_ask: OnAskChoice,
    json: bool,
) -> Result<u8, Failure> {
    let kept = run.state.get("setup").cloned().unwrap_or_default();
    let setup = RunSetup::from_value(&kept)?;
    let on_ask = on_ask.said.or(setup.on_ask).or(on_ask.otherwise);
    let console = Console::default();
    let opening = SessionOptions { on_ask, console, models: None };
    let session =
        session::open_session(&setup.model_args(), &setup.workspace_args(), opening).await?;
    session.warnings.iter().for_each(|warning| output::warn(warning, json));
    prepared.person = session.person();
    let printer = EventPrinter::new(session.console.clone());
    let control = RunControl::new();
    shutdown_signal::stop_on_signal(&control);
    let surfaces = RunHandles { control, events: printer.sink(json), person: Arc::new(prepared) };
    let start = session.start("", run.conversation);
    let finished = session.runner.resume(run, start, &surfaces).await;
    bootstrap::flush_hooks(&session.toolcrib).await;
    print_result(&finished.map_err(runner_failure)?, &printer, json)
}
