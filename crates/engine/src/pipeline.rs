//! The ordered list of stages, without further logic: each stage is a file of its name in `stage/`,
//! and takes the phase that the previous stage returned (`stage/phase.rs`).

use toolcrib_core::{Answer, Stage, ToolError};

use crate::call_state::CallState;
use crate::safe_text;
use crate::stage;
use crate::stage::phase::{Budgeted, Decoded, Guarded, Ruled, Shaped, Unrepeated};
use crate::stage::repeat::RepeatVerdict;
use crate::stage::step::StageExit;

/// Runs stages 0 to 3, which determine the requested tool and arguments.
pub(crate) fn prepare(call: &mut CallState) -> Result<Decoded, StageExit> {
    let step = stage::receive::run(call);
    let received = call.record(Stage::Receive, step)?;
    let step = stage::switch::run(call, received);
    let enabled = call.record(Stage::Switch, step)?;
    let step = stage::resolve::run(call, enabled);
    let resolved = call.record(Stage::Resolve, step)?;
    let step = stage::decode::run(call, resolved);
    call.record(Stage::Decode, step)
}

/// Runs stage 4 alone, for a call that was refused before it: the call counts in its batch and as a
/// repetition like any other.
pub(crate) fn check_repeat(call: &mut CallState, batch: &RepeatVerdict) -> Result<(), StageExit> {
    let step = stage::repeat::check(call, batch);
    call.record(Stage::Repeat, step)
}

/// Runs stages 4 to 8, which decide whether the call may run.
pub(crate) async fn authorize(
    call: &mut CallState,
    decoded: Decoded,
    batch: &RepeatVerdict,
) -> Result<Budgeted, StageExit> {
    let step = stage::repeat::run(call, decoded, batch);
    let unrepeated = call.record(Stage::Repeat, step)?;
    let step = stage::guard::run(call, unrepeated).await;
    let guarded = call.record(Stage::Guard, step)?;
    let ruled = evaluate(call, guarded)?;
    let step = stage::budget::run(call, ruled);
    call.record(Stage::Budget, step)
}

/// Runs stages 6 and 7: assessment and policy.
fn evaluate(call: &mut CallState, guarded: Guarded) -> Result<Ruled, StageExit> {
    let step = stage::assess::run(call, guarded);
    let assessed = call.record(Stage::Assess, step)?;
    let step = stage::gates::run(call, assessed);
    call.record(Stage::Gates, step)
}

/// Runs stages 0 to 7 of a dry run, which counts as no repetition and uses no budget.
pub(crate) async fn dry_run(call: &mut CallState) -> Result<Ruled, StageExit> {
    let decoded = prepare(call)?;
    let step = stage::guard::run(call, Unrepeated::in_dry_run(decoded)).await;
    let guarded = call.record(Stage::Guard, step)?;
    evaluate(call, guarded)
}

/// Runs stages 9 to 13: approval, admission, intent record, execution, and shaping the result for a
/// model.
pub(crate) async fn execute(call: &mut CallState, budgeted: Budgeted) -> Result<Shaped, StageExit> {
    let step = stage::approve::run(call, budgeted).await;
    let approved = call.record(Stage::Approve, step)?;
    let step = stage::admit::run(call, approved).await;
    let admitted = call.record(Stage::Admit, step)?;
    let step = stage::intent::run(call, admitted).await;
    let started = call.record(Stage::Intent, step)?;
    let step = stage::run::run(call, started).await;
    let finished = call.record(Stage::Run, step)?;
    let step = stage::shape_result::run(call, finished);
    call.record(Stage::Shape, step)
}

/// Runs stage 14, which records the one outcome; a suspended call gets the answer that it waits for
/// a person.
pub(crate) async fn finish(mut call: Box<CallState>, end: Result<Shaped, StageExit>) -> Answer {
    let result = match end {
        Ok(shaped) => Ok(shaped.into_result()),
        Err(StageExit::Fail(error)) => {
            Err(safe_text::sanitize_error(&call.engine().secrets, error))
        }
        Err(StageExit::Suspend(request)) => {
            stage::settle::suspend(&mut call).await;
            return Answer::Suspended(request);
        }
        Err(StageExit::AnsweredElsewhere(answer)) => {
            // No tool ran here, and the record of the call belongs to another process.
            call.mark_answered();
            return *answer;
        }
        Err(StageExit::Rerun(_)) => {
            Err(ToolError::execution("the arguments were edited more than once for one approval"))
        }
    };
    Answer::Done(Box::new(stage::settle::run(&mut call, result).await))
}
