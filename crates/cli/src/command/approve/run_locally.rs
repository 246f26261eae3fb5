//! Runs a decided call in this process, because no other process continues it.

use toolcrib_app::runner::labels_of_run;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    Answer, BatchId, DecisionRecord, Invoker as _, OutcomeKind, RunSpec, WorkerState,
};
use toolcrib_ops::approvals::{ContinuedBy, may_run};

use super::super::tool;
use super::decide::CallFate;
use super::{decide, resume_target};
use crate::bootstrap;
use crate::output::{self, Failure};

/// The decision by which a call runs.
pub(super) enum DecisionSource {
    /// This decision, which is stored first.
    New(DecisionRecord),
    /// The stored decision, which lets it run.
    Stored {
        /// The stored decision.
        first: DecisionRecord,
        /// The notice for people before it runs.
        notice: String,
    },
}

/// Decides about a call and runs it.
///
/// # Errors
/// The error of the decision; exit code 5 if another process runs it, and exit code 3 if the
/// environment of the call no longer exists. Nothing is decided in the last case.
pub(super) async fn execute(
    stores: &Stores,
    waiting: &PendingApproval,
    step: DecisionSource,
    json: bool,
) -> Result<u8, Failure> {
    let runs = match &step {
        DecisionSource::Stored { .. } => true,
        DecisionSource::New(record) => may_run(&record.decision),
    };
    let toolcrib = match resume_target::build_toolcrib(stores, waiting).await {
        Ok(toolcrib) => toolcrib,
        // A call that does not run needs no environment.
        Err(failure) => match step {
            DecisionSource::New(record) if !runs => {
                return decide::record_only(stores, waiting, record, json).await;
            }
            DecisionSource::New(_) | DecisionSource::Stored { .. } => return Err(failure),
        },
    };
    let promise = promise(&toolcrib, waiting, &step).await?;
    let (record, first) = match &step {
        DecisionSource::New(record) => (record.clone(), None),
        DecisionSource::Stored { first, notice } => {
            output::warn(notice, json);
            (first.clone(), Some(first.clone()))
        }
    };
    let answer = execute_in_run(&toolcrib, waiting, step).await;
    // The store may have failed after it stored the decision: recovery then continues the call.
    if !matches!(answer, Err(DecideError::Store(_))) {
        let _ = stores.calls.finish_batch(promise).await;
    }
    bootstrap::flush_hooks(&toolcrib).await;
    let answer = answer.map_err(|error| decide::failure(&waiting.request, error))?;
    let Some(answer) = answer else {
        output::warn("another task of this process continues it", json);
        return Ok(0);
    };
    if !runs {
        let decided = (&record, ContinuedBy::Call);
        decide::print_decision(&waiting.request, decided, "it was not run", json)?;
        return Ok(0);
    }
    // Another process started it a moment earlier.
    if let Some(first) = first
        && answer.outcome().is_some_and(|outcome| outcome.kind == OutcomeKind::Unknown)
        && CallFate::find(stores, &waiting.request).await? == CallFate::Running
    {
        return Err(carried_out_by(waiting, &first, "another process"));
    }
    tool::print_answer(&answer, json)
}

/// Stores, before the decision, that this process will run the call: the call is then not lost in a
/// crash, and a second `yes` sees which process has it. A promise of a process that has ended is
/// taken over.
async fn promise(
    toolcrib: &Toolcrib,
    waiting: &PendingApproval,
    step: &DecisionSource,
) -> Result<BatchId, Failure> {
    let engine = toolcrib.engine();
    let DecisionSource::Stored { first, .. } = step else {
        return Ok(engine.promise(waiting).await?.id);
    };
    let Some(found) = engine.promised(waiting).await? else {
        // A promise ends with its call: without one, the call has ended or was never promised.
        let fate = CallFate::find(toolcrib.stores(), &waiting.request).await?;
        if fate == CallFate::NotRun {
            return Ok(engine.promise(waiting).await?.id);
        }
        return Err(decide::already_decided(&waiting.request, first, &fate.text(&waiting.request)));
    };
    let calls = &toolcrib.stores().calls;
    let take = |epoch| calls.take_batch(found.id, epoch);
    if engine.under_claim(take).await? {
        return Ok(found.id);
    }
    let who = match calls.worker(found.epoch).await? {
        WorkerState::Alive(who) => who,
        WorkerState::Gone | WorkerState::Unknown => "another process".to_owned(),
    };
    Err(carried_out_by(waiting, first, &who))
}

/// Returns the failure: the first decision applies, and another process has the call.
fn carried_out_by(waiting: &PendingApproval, first: &DecisionRecord, who: &str) -> Failure {
    let call = waiting.request.call;
    let what = format!("; {who} carries it out, and `toolcrib explain {call}` follows it");
    decide::already_decided(&waiting.request, first, &what)
}

/// Runs the call in its run: the calls of a response have a separate run, which is open again while
/// this one runs.
async fn execute_in_run(
    toolcrib: &Toolcrib,
    waiting: &PendingApproval,
    step: DecisionSource,
) -> Result<Option<Answer>, DecideError> {
    let (engine, id) = (toolcrib.engine(), waiting.request.id);
    if let Some(run) = waiting.request.run {
        // Without its stored labels, the run must not continue as if it were untainted.
        let labels = labels_of_run(&**toolcrib.runs(), run).await;
        let labels = labels.map_err(|error| DecideError::Store(error.to_string()))?;
        let spec = RunSpec { id: Some(run), labels, ..RunSpec::default() };
        engine.open_run(spec).map_err(|error| DecideError::Store(error.message))?;
    }
    let answer = match step {
        DecisionSource::New(record) => engine.decide(id, record).await,
        DecisionSource::Stored { .. } => engine.resume(id).await,
    };
    if let Some(run) = waiting.request.run {
        engine.close_run(run);
    }
    answer
}
