//! Stage 11: "started" is recorded before anything runs. No intent record, no run.

use std::sync::Arc;

use toolcrib_core::{ErrorType, Intent, StoreError, ToolError};

use super::gates;
use crate::again;
use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::running::Work;

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    let started_at = flight.engine().clock.now_ms();
    // Before anybody is asked whether it may run: whoever pulls the brake and then stops what is at work misses nothing.
    works(flight, started_at)?;
    if !flight.engine().tools_enabled() {
        return fail(ErrorType::ToolsDisabled, "Tools are disabled. Answer without calling tools.");
    }
    gates::still_allowed(flight)?;
    // It may have been lost while the call waited.
    let epoch = match flight.engine().claim().await {
        Ok(epoch) => epoch,
        Err(error) => return Err(not_recorded(&error)),
    };
    let intent = Intent { facts: flight.facts(), started_at, epoch };
    flight.kept = Some((intent.facts.args.clone(), intent.facts.args_hash.clone()));
    // Dropped from here on, the call may have its record, and its end is the end of that.
    flight.started_at = Some(started_at);
    let engine = Arc::clone(flight.engine());
    flight.epoch = Some(epoch);
    let Err(error) = engine.calls.begin(intent).await else {
        crate::failpoint::hit("intent");
        return Ok(Passed::PLAIN);
    };
    match &error {
        // Nobody knows whether the record is there; its end is the end of that.
        StoreError::Failed(_) => {}
        StoreError::Fenced { .. } => {
            flight.started_at = None;
            engine.lost_claim(epoch);
        }
        _ => flight.started_at = None,
    }
    let may_be_elsewhere =
        flight.approval.is_some() || flight.scope.again || flight.scope.was_taken_for_dead();
    if may_be_elsewhere && matches!(error, StoreError::Conflict(_)) {
        // Another process goes on with it: what becomes of the call is what it says.
        if let Ok(Some(answer)) = again::known(&engine, flight.call).await {
            return Err(Stop::Known(Box::new(answer)));
        }
    }
    Err(not_recorded(&error))
}

fn works(flight: &InFlight, started_at: i64) -> Result<(), Stop> {
    let Some(seat) = &flight.seat else { return Ok(()) };
    let (scope, tool) = (Arc::clone(&flight.scope), Arc::clone(flight.tool()?));
    seat.works(Work { scope, tool, effect: flight.assessed()?.effect, started_at });
    Ok(())
}

/// Why a call without a record was not run.
fn not_recorded(error: &StoreError) -> Stop {
    let text = match error {
        StoreError::Conflict(_) => {
            "A call with this id was started before, so it was not run again. Send the call under a new id if it is meant as another one.".to_owned()
        }
        StoreError::Full(_) => {
            "The call could not be recorded because the disk is full, so it was not run. It can be tried again when there is room.".to_owned()
        }
        StoreError::Busy(_) => {
            "The call could not be recorded because the store is busy, so it was not run. Try again.".to_owned()
        }
        error => format!("The call could not be recorded ({error}), so it was not run."),
    };
    Stop::Fail(ToolError::new(ErrorType::StoreFailed, text))
}
