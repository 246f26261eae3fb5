//! Carrying a call out in this process, because nobody else goes on with it.

use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::store::Waiting;
use toolcrib_app::core::{Answer, DecisionRecord, Invoker as _, RunSpec};
use toolcrib_app::runner::labels_of_run;
use toolcrib_app::{Stores, Toolcrib};

use super::super::tool;
use super::{decide, surroundings};
use crate::output::{self, Failure};
use crate::world;

/// By which decision a call is carried out.
pub(super) enum Step {
    /// By this one, which is written down first.
    Decide(DecisionRecord),
    /// By the one that is stored, which lets it run.
    GoOn,
}

/// Decides about a call and carries it out.
///
/// # Errors
/// As the decision says, and exit code 3 when the surroundings of the call are not there any more: then nothing is decided.
pub(super) async fn carry_out(
    stores: &Stores,
    waiting: &Waiting,
    step: Step,
    json: bool,
) -> Result<u8, Failure> {
    let runs = match &step {
        Step::GoOn => true,
        Step::Decide(record) => decide::may_run(&record.decision),
    };
    let toolcrib = match surroundings::build(stores, waiting).await {
        Ok(toolcrib) => toolcrib,
        // What is not to run needs no surroundings.
        Err(failure) => match step {
            Step::Decide(record) if !runs => {
                return decide::only_record(stores, waiting, record, json).await;
            }
            Step::Decide(_) | Step::GoOn => return Err(failure),
        },
    };
    let words = match &step {
        Step::Decide(record) => super::list::decision_words(record),
        Step::GoOn => String::new(),
    };
    let answer = in_run(&toolcrib, waiting, step).await;
    world::settle(&toolcrib).await;
    let answer = answer.map_err(|error| decide::failure(&waiting.request, error))?;
    let Some(answer) = answer else {
        output::remark("it goes on in another task of this process", json);
        return Ok(0);
    };
    if !runs {
        decide::say(&waiting.request, &words, "it was not run", json)?;
        return Ok(0);
    }
    tool::print(&answer, json)
}

/// The calls of a response have a run of their own, which is open again as long as this one works.
async fn in_run(
    toolcrib: &Toolcrib,
    waiting: &Waiting,
    step: Step,
) -> Result<Option<Answer>, DecideError> {
    let (engine, id) = (toolcrib.engine(), waiting.request.id);
    if let Some(run) = waiting.request.run {
        // Whoever cannot say what the run had read must not let it go on as if it had read nothing.
        let labels = labels_of_run(&**toolcrib.runs(), run).await;
        let labels = labels.map_err(|error| DecideError::Store(error.to_string()))?;
        let spec = RunSpec { id: Some(run), labels, ..RunSpec::default() };
        engine.open_run(spec).map_err(|error| DecideError::Store(error.message))?;
    }
    let answer = match step {
        Step::Decide(record) => engine.decide(id, record).await,
        Step::GoOn => engine.go_on(id).await,
    };
    if let Some(run) = waiting.request.run {
        engine.close_run(run);
    }
    answer
}
