//! Carrying a call out in this process, because no other process continues it.

use toolcrib_app::core::invoker::DecideError;
use toolcrib_app::core::store::PendingApproval;
use toolcrib_app::core::{Answer, DecisionRecord, Invoker as _, RunSpec};
use toolcrib_app::runner::labels_of_run;
use toolcrib_app::{Stores, Toolcrib};

use super::super::tool;
use super::{decide, resume_target};
use crate::bootstrap;
use crate::output::{self, Failure};

/// By which decision a call is carried out.
pub(super) enum DecisionSource {
    /// By this one, which is written down first.
    New(DecisionRecord),
    /// By the one that is stored, which lets it run.
    Stored,
}

/// Decides about a call and carries it out.
///
/// # Errors
/// As the decision says, and exit code 3 when the surroundings of the call are not there any more: then nothing is decided.
pub(super) async fn execute(
    stores: &Stores,
    waiting: &PendingApproval,
    step: DecisionSource,
    json: bool,
) -> Result<u8, Failure> {
    let runs = match &step {
        DecisionSource::Stored => true,
        DecisionSource::New(record) => decide::may_run(&record.decision),
    };
    let toolcrib = match resume_target::build_toolcrib(stores, waiting).await {
        Ok(toolcrib) => toolcrib,
        // What is not to run needs no surroundings.
        Err(failure) => match step {
            DecisionSource::New(record) if !runs => {
                return decide::record_only(stores, waiting, record, json).await;
            }
            DecisionSource::New(_) | DecisionSource::Stored => return Err(failure),
        },
    };
    let words = match &step {
        DecisionSource::New(record) => super::list::decision_text(record),
        DecisionSource::Stored => String::new(),
    };
    let answer = execute_in_run(&toolcrib, waiting, step).await;
    bootstrap::flush_hooks(&toolcrib).await;
    let answer = answer.map_err(|error| decide::failure(&waiting.request, error))?;
    let Some(answer) = answer else {
        output::warn("it goes on in another task of this process", json);
        return Ok(0);
    };
    if !runs {
        decide::print_decision(&waiting.request, &words, "it was not run", json)?;
        return Ok(0);
    }
    tool::print_answer(&answer, json)
}

/// The calls of a response have a run of their own, which is open again as long as this one works.
async fn execute_in_run(
    toolcrib: &Toolcrib,
    waiting: &PendingApproval,
    step: DecisionSource,
) -> Result<Option<Answer>, DecideError> {
    let (engine, id) = (toolcrib.engine(), waiting.request.id);
    if let Some(run) = waiting.request.run {
        // Without the stored labels of the run, it must not continue as if it had read nothing.
        let labels = labels_of_run(&**toolcrib.runs(), run).await;
        let labels = labels.map_err(|error| DecideError::Store(error.to_string()))?;
        let spec = RunSpec { id: Some(run), labels, ..RunSpec::default() };
        engine.open_run(spec).map_err(|error| DecideError::Store(error.message))?;
    }
    let answer = match step {
        DecisionSource::New(record) => engine.decide(id, record).await,
        DecisionSource::Stored => engine.resume(id).await,
    };
    if let Some(run) = waiting.request.run {
        engine.close_run(run);
    }
    answer
}
