//! Stage 11: records the start before the tool runs. A call without an intent record does not run,
//! unless it only reads and the disk is full.

use std::sync::Arc;

use toolcrib_core::{ErrorType, Intent, StoreError, ToolError};

use super::gates;
use super::phase::{Admitted, Started};
use super::step::{StageExit, StagePass, StageResult, fail};
use crate::call_state::{CallState, StartFacts};
use crate::resume::recorded::recorded_answer;

/// Trace note of a call that only reads on a full disk. A crash leaves nothing to determine about
/// it, so the owner can inspect files while freeing space.
const UNRECORDED_START: &str = "the disk is full: it only reads, so it runs without this record";

pub(crate) async fn run(call: &mut CallState, Admitted(plan): Admitted) -> StageResult<Started> {
    let started_at = call.engine().clock.now_ms();
    let effect = plan.assessment.effect;
    let only_reads = effect.only_reads();
    // List the call before reading the kill switch, so that an owner who engages it and then stops
    // the running calls misses none.
    call.mark_running(plan.tool(), effect, started_at);
    // The claim may have been lost while the call waited.
    let epoch = match call.engine().claim().await {
        Ok(epoch) => epoch,
        Err(error) => return Err(not_recorded(&error)),
    };
    may_start(call).await?;
    gates::recheck(call, &plan)?;
    let intent = Intent { facts: call.details(), started_at, epoch };
    // If the call is dropped from here on, its record may exist, and its end must be recorded.
    let args = (intent.facts.args.clone(), intent.facts.args_hash.clone());
    let start = call.facts.start.insert(StartFacts { args, epoch, at: Some(started_at) });
    let engine = Arc::clone(&call.scope.engine);
    let Err(error) = engine.calls.begin(intent).await else {
        crate::failpoint::hit("intent");
        // The store may have waited long for the disk or for another machine.
        if !effect.is_repeatable() {
            may_start(call).await?;
        }
        return Ok(StagePass::plain(Started(plan)));
    };
    if only_reads && matches!(error, StoreError::Full(_)) {
        return Ok(StagePass::changed(Started(plan), UNRECORDED_START));
    }
    match &error {
        // The record may or may not exist; its end must be recorded.
        StoreError::Failed(_) => {}
        StoreError::Fenced { .. } => {
            start.at = None;
            engine.lost_claim(epoch);
        }
        _ => start.at = None,
    }
    let may_be_elsewhere =
        call.facts.approval.is_some() || call.scope.is_replay || call.scope.lost_lease();
    if may_be_elsewhere && matches!(error, StoreError::Conflict(_)) {
        // Another process runs the call: its recorded outcome is the answer.
        if let Ok(Some(answer)) = recorded_answer(&engine, call.id).await {
            return Err(StageExit::AnsweredElsewhere(Box::new(answer)));
        }
    }
    Err(not_recorded(&error))
}

/// Checks whether tools may run at all, including switches set by other processes.
async fn may_start(call: &CallState) -> Result<(), StageExit> {
    if let Err(error) = call.engine().refresh_stale_switches().await {
        let text = format!("Whether tools may run could not be read ({error}), so it was not run.");
        return fail(ErrorType::StoreFailed, text);
    }
    if call.engine().tools_enabled() {
        return Ok(());
    }
    Err(StageExit::Fail(call.engine().tools_disabled()))
}

/// Returns why a call without a record was not run.
fn not_recorded(error: &StoreError) -> StageExit {
    let text = match error {
        StoreError::Conflict(_) => {
            "A call with this id was started before, so it was not run again. Send the call under a new id if it is meant as another one.".to_owned()
        }
        StoreError::Full(_) => {
            "The call could not be recorded because the disk is full, so it was not run; no record is lost. It can be tried again when there is space.".to_owned()
        }
        StoreError::Busy(_) => {
            "The call could not be recorded because the store is busy, so it was not run; no record is lost. Try again.".to_owned()
        }
        error => format!("The call could not be recorded ({error}), so it was not run."),
    };
    StageExit::Fail(ToolError::new(ErrorType::StoreFailed, text))
}
