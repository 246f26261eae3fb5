//! Carrying a call out in this process, because nobody else goes on with it.

use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::store::Waiting;
use toolcrib_app::core::{Answer, Decision, DecisionRecord, Invoker as _, RunSpec};
use toolcrib_app::{Stores, Toolcrib};

use super::super::tool;
use super::{decide, surroundings};
use crate::output::{self, Failure};

/// Decides about a call and carries it out; without a record by the decision that is stored.
///
/// # Errors
/// As the decision says, and exit code 3 when the surroundings of the call are not there any more: then nothing is decided.
pub(super) async fn carry_out(
    stores: &Stores,
    waiting: &Waiting,
    record: Option<DecisionRecord>,
    json: bool,
) -> Result<u8, Failure> {
    let runs = match &record {
        None => true,
        Some(record) => matches!(record.decision, Decision::Approve { .. } | Decision::Edit { .. }),
    };
    let toolcrib = match surroundings::build(stores, waiting).await {
        Ok(toolcrib) => toolcrib,
        // What is not to run needs no surroundings.
        Err(failure) => match record.filter(|_| !runs) {
            Some(record) => return decide::only_record(stores, waiting, record, json).await,
            None => return Err(failure),
        },
    };
    let words = record.as_ref().map(super::list::decision_words);
    let answer = in_run(&toolcrib, waiting, record).await;
    let answer = answer.map_err(|error| decide::failure(&waiting.request, error))?;
    let Some(answer) = answer else {
        output::remark("it goes on in another task of this process", json);
        return Ok(0);
    };
    if !runs {
        decide::say(&waiting.request, &words.unwrap_or_default(), "it was not run", json)?;
        return Ok(0);
    }
    tool::print(&answer, json)
}

/// The calls of a response have a run of their own, which is open again as long as this one works.
async fn in_run(
    toolcrib: &Toolcrib,
    waiting: &Waiting,
    record: Option<DecisionRecord>,
) -> Result<Option<Answer>, DecideError> {
    let (engine, id) = (toolcrib.engine(), waiting.request.id);
    if let Some(run) = waiting.request.run {
        let spec = RunSpec { id: Some(run), ..RunSpec::default() };
        engine.open_run(spec).map_err(|error| DecideError::Store(error.message))?;
    }
    let answer = match record {
        Some(record) => engine.decide(id, record).await,
        None => engine.go_on(id).await,
    };
    if let Some(run) = waiting.request.run {
        engine.close_run(run);
    }
    answer
}
