//! Stage 8: calls, tokens and time are reserved on the run and all its parents, before anybody is asked.

use toolcrib_core::{ErrorType, EventKind, ToolError, canonical, defaults};

use crate::budget::Short;
use crate::flight::{InFlight, Passed, Step, Stop};

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let Some(run) = &flight.scope.run else { return Ok(Passed::SKIPPED) };
    let tokens = if run.budget.counts_tokens() { estimate(flight) } else { 0 };
    match run.budget.reserve(tokens) {
        Ok(reservation) => {
            flight.reservation = Some(reservation);
            Ok(Passed::PLAIN)
        }
        Err(short) => {
            let error = exceeded(short);
            flight
                .tell(EventKind::BudgetExceeded, |event| event.error = Some(error.message.clone()));
            Err(Stop::Fail(error))
        }
    }
}

/// Tokens of the arguments: an estimate, four characters each (SPEC 3.2).
fn estimate(flight: &InFlight) -> u64 {
    canonical::to_string(&flight.args).len() as u64 / defaults::CHARS_PER_TOKEN
}

pub(crate) fn exceeded(short: Short) -> ToolError {
    let what = match short {
        Short::Calls(limit) => format!("all {limit} calls of this run are used"),
        Short::Tokens(limit) => {
            format!("the {limit} tokens of this run are used (estimated where nobody reports them)")
        }
        Short::Time(limit) => {
            format!("the {} s of tool time of this run are used", limit.as_secs())
        }
    };
    ToolError::new(
        ErrorType::BudgetExceeded,
        format!("The budget is exceeded: {what}. Answer with what you have."),
    )
}
