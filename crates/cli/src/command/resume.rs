//! `toolcrib resume`: a run that waits for a person, or whose process is gone, goes on.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_app::agent::drive::Control;
use toolcrib_app::agent::machine::{Pending, Said, Waits};
use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::{
    ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, RunId, RunStatus, StoredRun,
    SystemClock,
};
use toolcrib_app::runner::Surfaces;

use super::approve::decisions;
use super::run::{failure, report, waits_for};
use super::{past, through};
use crate::cli::Resume;
use crate::config::OnAsk;
use crate::output::{self, Failure};
use crate::session::{self, Opening, Prepared, Printer, Setup, TerminalPerson};
use crate::terminal::Console;
use crate::{interrupt, person, world};

/// Runs that are listed.
const LISTED: usize = 100;

pub(crate) fn run(command: &Resume, json: bool) -> Result<u8, Failure> {
    if let (true, Some(run)) = (command.daemon, &command.run) {
        return through::resume(run, json);
    }
    let prepared = prepared(command)?;
    world::block_on(async {
        let stores = world::stores()?;
        if command.list {
            return list(&open_runs(&stores).await?, json);
        }
        let run = match &command.run {
            Some(id) => named(&stores, id).await?,
            None => only(open_runs(&stores).await?)?,
        };
        if run.status == RunStatus::Running && session::is_worked_on(&run, &stores).await? {
            return elsewhere(&stores, &run, &prepared, json).await;
        }
        let open = undecided(&stores, &run).await?;
        is_one(&prepared, open.iter().map(|wait| (wait.call, &wait.what)))?;
        go_on(run, prepared, command.on_ask, json).await
    })
}

fn store(error: toolcrib_app::core::StoreError) -> Failure {
    Failure::run(error.to_string())
}

/// Runs that somebody may go on with: those that wait, and those that a process has left in the middle.
async fn open_runs(stores: &Stores) -> Result<Vec<StoredRun>, Failure> {
    let mut open = stores.runs.runs("", Some(RunStatus::Paused), LISTED).await.map_err(store)?;
    for run in stores.runs.runs("", Some(RunStatus::Running), LISTED).await.map_err(store)? {
        // One that cannot be read is nobody's to take up.
        if matches!(session::is_worked_on(&run, stores).await, Ok(false)) {
            open.push(run);
        }
    }
    Ok(open)
}

async fn named(stores: &Stores, text: &str) -> Result<StoredRun, Failure> {
    let id = match text.trim().parse() {
        Ok(id) => id,
        Err(_) => past::kept_run(stores, text, "resume --list").await?,
    };
    stores.runs.run(id).await.map_err(store)?.ok_or_else(|| unknown(id))
}

fn unknown(id: RunId) -> Failure {
    Failure::not_found(format!(
        "there is no run {id}; `toolcrib resume --list` shows those that wait"
    ))
}

fn prepared(command: &Resume) -> Result<Prepared, Failure> {
    let person = TerminalPerson::new(Console::default(), command.on_ask);
    let mut prepared = Prepared { person, call: command.call, said: None, decision: None };
    if let Some(text) = &command.answer {
        prepared.said = Some(Said::Answered { text: text.clone() });
    }
    if command.skip {
        prepared.said = Some(Said::Skipped);
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
            .map_err(|error| Failure::usage(format!("--args is no JSON: {error}")))?;
        prepared.decision = Some(Decision::Edit { args });
    }
    Ok(prepared)
}

fn only(mut waiting: Vec<StoredRun>) -> Result<StoredRun, Failure> {
    match (waiting.pop(), waiting.len()) {
        (Some(run), 0) => Ok(run),
        (None, _) => Err(Failure::not_found("no run waits for anybody")),
        (Some(_), more) => Err(Failure::usage(format!(
            "{} runs wait; name one of those that `toolcrib resume --list` shows",
            more + 1
        ))),
    }
}

/// A decision is about one call: what was read about one must not be said of another.
fn is_one<'a>(
    prepared: &Prepared,
    waiting: impl Iterator<Item = (CallId, &'a Waits)>,
) -> Result<(), Failure> {
    let is_meant = |what: &Waits| match what {
        Waits::Approval(_) => prepared.decision.is_some(),
        Waits::Answer(_) => prepared.said.is_some(),
    };
    let meant: Vec<_> = waiting.filter(|(_, what)| is_meant(what)).collect();
    match prepared.call {
        Some(call) if !meant.is_empty() && meant.iter().all(|(id, _)| *id != call) => {
            Err(Failure::not_found(format!("no call {call} waits in this run")))
        }
        None if meant.len() > 1 => {
            let each = meant.iter().map(|(call, what)| format!("\n  {call}  {}", waits_for(what)));
            let each: String = each.collect();
            Err(Failure::usage(format!(
                "several calls wait; say which is meant with --call:{each}"
            )))
        }
        _ => Ok(()),
    }
}

fn pending(run: &StoredRun) -> Vec<Pending> {
    let pending = run.state.pointer("/state/phase/pending").cloned().unwrap_or_default();
    serde_json::from_value(pending).unwrap_or_default()
}

/// What nobody has decided about since.
async fn undecided(stores: &Stores, run: &StoredRun) -> Result<Vec<Pending>, Failure> {
    let mut open = Vec::new();
    for wait in pending(run) {
        let kept = match wait.approval() {
            Some(id) => stores.approvals.get(id).await.map_err(store)?,
            None => None,
        };
        if !matches!(kept, Some((_, Some(_)))) {
            open.push(wait);
        }
    }
    Ok(open)
}

fn list(waiting: &[StoredRun], json: bool) -> Result<u8, Failure> {
    if json {
        let rows = waiting.iter().map(|run| {
            json!({
                "run": run.id,
                "conversation": run.conversation,
                "agent": run.context.agent,
                "status": run.status,
                "since": run.updated_at,
                "waiting": pending(run),
            })
        });
        output::document(&rows.collect::<Value>(), true)?;
        return Ok(0);
    }
    if waiting.is_empty() {
        output::note("toolcrib: no run waits for anybody");
    }
    for run in waiting {
        let left = match run.status {
            RunStatus::Running => "  left in the middle, its process is gone",
            RunStatus::Paused | RunStatus::Ended => "",
        };
        output::data(&format!("{}{left}", run.id))?;
        for wait in pending(run) {
            output::data(&format!("  {}  {}", wait.call, waits_for(&wait.what)))?;
        }
    }
    Ok(0)
}

/// A run that a process works on: a decision is written down for it.
async fn elsewhere(
    stores: &Stores,
    run: &StoredRun,
    prepared: &Prepared,
    json: bool,
) -> Result<u8, Failure> {
    let open = stores.approvals.pending().await.map_err(store)?;
    let open: Vec<_> = open.into_iter().filter(|request| request.run == Some(run.id)).collect();
    if open.is_empty() {
        return Err(Failure::usage(format!(
            "the run {} is being worked on and waits for nobody",
            run.id
        )));
    }
    let open: Vec<_> = open
        .into_iter()
        .filter(|request| prepared.call.is_none_or(|call| call == request.call))
        .collect();
    let meant: Vec<_> = open.iter().map(|request| (request.call, waits(request))).collect();
    is_one(prepared, meant.iter().map(|(call, what)| (*call, what)))?;
    let decided: Vec<_> =
        open.iter().filter_map(|request| Some((request, decision(prepared, request)?))).collect();
    if decided.is_empty() {
        let what: Vec<String> = open.iter().map(|request| waits_for(&waits(request))).collect();
        return Err(Failure {
            code: 6,
            message: format!(
                "{}; decide with --approve, --deny, --skip or --answer",
                what.join("; ")
            ),
        });
    }
    let sealing = world::sealing()?;
    for (request, decision) in decided {
        let record = DecisionRecord {
            decision,
            decided_by: person::name(),
            decided_at: SystemClock.now_ms(),
        };
        match decisions(stores, &sealing).record(request.id, record).await {
            Ok(_) => output::remark(
                &format!("decided about {}; its process goes on", request.tool),
                json,
            ),
            Err(DecideError::AlreadyDecided(first)) => output::remark(
                &format!("{} was decided before by {}", request.tool, first.decided_by),
                json,
            ),
            Err(DecideError::Expired) => {
                output::remark(&format!("nobody decided about {} in time", request.tool), json);
            }
            Err(error) => return Err(Failure::run(error.to_string())),
        }
    }
    Ok(0)
}

fn waits(request: &ApprovalRequest) -> Waits {
    match &request.question {
        Some(question) => Waits::Answer(question.clone()),
        None => Waits::Approval(Box::new(request.clone())),
    }
}

/// What was written on the command line about this question.
fn decision(prepared: &Prepared, request: &ApprovalRequest) -> Option<Decision> {
    if request.question.is_none() {
        return prepared.decision.clone();
    }
    prepared.said.as_ref().map(|said| match said {
        Said::Answered { text } => Decision::Answer { text: text.clone() },
        Said::Skipped | Said::Expired => Decision::Skip,
    })
}

/// Goes on with a run by what was decided about it elsewhere; whatever else it waits for is asked here, where somebody can be asked.
pub(super) async fn take_up(run: StoredRun, json: bool) -> Result<u8, Failure> {
    let person = TerminalPerson::new(Console::default(), None);
    let prepared = Prepared { person, call: None, said: None, decision: None };
    // What it asks further waits in the inbox too, where nobody is here.
    go_on(run, prepared, Some(OnAsk::Fail).filter(|_| !Console::default().has_person()), json).await
}

async fn go_on(
    run: StoredRun,
    mut prepared: Prepared,
    on_ask: Option<OnAsk>,
    json: bool,
) -> Result<u8, Failure> {
    let kept = run.state.get("setup").cloned().unwrap_or_default();
    let setup = Setup::of_value(&kept)?;
    let console = Console::default();
    let opening = Opening { on_ask, console, models: None };
    let session = session::open(&setup.brain(), &setup.world(), opening).await?;
    session.warnings.iter().for_each(|warning| output::remark(warning, json));
    prepared.person = session.person();
    let printer = Printer::new(session.console.clone());
    let control = Control::new();
    interrupt::stops(&control);
    let surfaces = Surfaces { control, events: printer.sink(json), person: Arc::new(prepared) };
    let start = session.start("", run.conversation);
    let finished = session.runner.resume(run, start, &surfaces).await;
    world::settle(&session.toolcrib).await;
    report(&finished.map_err(failure)?, &printer, json)
}
