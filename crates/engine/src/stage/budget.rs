//! Stage 8: calls, tokens and time are reserved on the run and all its parents, before a person is
//! asked.

use toolcrib_core::{EventKind, canonical_json, defaults};

use super::phase::{Budgeted, Plan, Ruled};
use super::step::{StageExit, StagePass, StageResult};
use crate::budget;
use crate::call_state::CallState;

pub(crate) fn run(call: &mut CallState, ruled: Ruled) -> StageResult<Budgeted> {
    let Ruled { plan, asks } = ruled;
    let Some(run) = &call.scope.run else {
        return Ok(StagePass::skipped(Budgeted { plan, asks, queued_locks: None }));
    };
    let tokens = if run.budget.counts_tokens() { estimate(&plan) } else { 0 };
    match run.budget.reserve(tokens) {
        Ok(reservation) => {
            call.reservation = Some(reservation);
            Ok(StagePass::plain(Budgeted { plan, asks, queued_locks: None }))
        }
        Err(short) => {
            let error = budget::exceeded(short);
            call.emit(EventKind::BudgetExceeded, |event| event.error = Some(error.message.clone()));
            Err(StageExit::Fail(error))
        }
    }
}

/// Estimates the tokens of the arguments at four characters each.
fn estimate(plan: &Plan) -> u64 {
    canonical_json::to_string(plan.args()).len() as u64 / defaults::CHARS_PER_TOKEN
}
