//! Stage 0: the call is counted, and from here on it cannot be dropped: it gets its one outcome whatever happens.

use toolcrib_core::ErrorType;

use crate::flight::{InFlight, Passed, Step, fail};

pub(crate) fn run(flight: &mut InFlight) -> Step {
    if !flight.dry {
        flight.engine().count();
    }
    if flight.asked.trim().is_empty() {
        return fail(
            ErrorType::ValidationError,
            "The tool name is empty. Name the tool that should be called.",
        );
    }
    if flight.resumed.is_some() {
        return Ok(Passed::noting("enters again with a decision"));
    }
    Ok(Passed::PLAIN)
}
