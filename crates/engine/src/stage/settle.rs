//! Stage 14: budgets, the repeat guard and observers learn how it ended, and the one outcome is recorded.

use std::borrow::Cow;

use toolcrib_core::{
    EventKind, ModelResult, OutcomeKind, Stage, StageVerdict, ToolError, defaults,
};

use super::repeat;
use crate::flight::{InFlight, Passed};
use crate::pipeline::kind_of;

pub(crate) async fn run(
    flight: &mut InFlight,
    result: Result<ModelResult, ToolError>,
) -> (OutcomeKind, Result<ModelResult, ToolError>) {
    flight.held = None;
    flight.queued = None;
    flight.permits.clear();
    let over = reconcile(flight, result.as_ref().ok());
    repeat::ended(flight, result.as_ref().err());
    tell(flight, &result);
    let kind = kind_of(&result);
    let record = flight.call_record(kind, result.as_ref().err().map(|error| error.error_type));
    let stored = flight.engine().calls.settle(record).await;
    flight.answered = true;
    let step = match stored {
        // The tool ran: its result is never thrown away because a record could not be written.
        Err(error) => Passed(StageVerdict::Changed, Cow::Owned(format!("the outcome could not be recorded: {error}"))),
        Ok(()) if over => Passed::changed("the budget of the run is now used up"),
        Ok(()) => Passed::PLAIN,
    };
    // A passed stage never stops the call.
    let _ = flight.record(Stage::Settle, Ok(step));
    (kind, result)
}

/// What the call took replaces what was reserved; `true` = a cap is now exceeded. The result is kept all the same.
fn reconcile(flight: &mut InFlight, result: Option<&ModelResult>) -> bool {
    let (Some(reservation), Some(run)) = (flight.reservation.take(), &flight.scope.run) else {
        return false;
    };
    if flight.attempts == 0 {
        return false;
    }
    let tokens = if run.budget.counts_tokens() {
        let chars = result.map_or(0, |r| r.result.to_string().len()) + flight.args.to_string().len();
        chars as u64 / defaults::CHARS_PER_TOKEN
    } else {
        0
    };
    reservation.settle(flight.run_time, tokens);
    run.budget.charge_tokens(0).is_err()
}

fn tell(flight: &InFlight, result: &Result<ModelResult, ToolError>) {
    match result {
        Ok(result) if !result.is_error => {
            flight.tell(EventKind::AfterTool, |event| {
                event.result = Some(result.result.as_str().map_or_else(|| result.result.to_string(), str::to_owned));
            });
        }
        Ok(_) => flight.tell(EventKind::ToolError, |_| ()),
        Err(error) => flight.tell(EventKind::ToolError, |event| {
            event.error_type = Some(error.error_type);
            event.error = Some(error.message.clone());
        }),
    }
}
