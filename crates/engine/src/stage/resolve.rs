//! Stage 2: the name becomes an entry in the caller's view. Near names come from that view only, so that nothing outside it is told.

use std::sync::Arc;

use toolcrib_core::{Entry, ErrorType, Exclusion, Status, near};

use super::spelling;
use crate::flight::{InFlight, Passed, Step, fail};

/// Characters of a wrong name that are repeated to the model.
const SHOWN: usize = 100;

pub(crate) fn run(flight: &mut InFlight) -> Step {
    spelling::read(flight)?;
    let seen = Arc::clone(&flight.scope.seen);
    let Some(tool) = seen.find(&flight.asked) else { return not_in_view(flight) };
    flight.tool = Some(Arc::clone(tool));
    match &tool.entry {
        Entry::Hosted { .. } => fail(
            ErrorType::ToolNotAvailable,
            format!(
                "Tool {} is not available here: the provider runs it, and its result comes with the model's own answer.",
                flight.asked
            ),
        ),
        _ if tool.spec().name.as_str() == flight.asked => Ok(Passed::PLAIN),
        _ => Ok(Passed::noting(format!("{} is {}", flight.asked, tool.spec().name))),
    }
}

fn not_in_view(flight: &mut InFlight) -> Step {
    let asked: String = flight.asked.chars().take(SHOWN).collect();
    let state = flight.engine().registry.read();
    let tool = state.look_up(&flight.asked).map(Arc::clone);
    drop(state);
    let Some(tool) = tool else {
        return fail(ErrorType::ToolNotFound, unknown(flight, &asked));
    };
    flight.tool = Some(Arc::clone(&tool));
    let reason = flight.scope.seen.exclusion(&tool.spec().name);
    let (error_type, text) = unavailable(&asked, reason);
    fail(error_type, text)
}

/// Words for a tool that is there and not for this caller.
pub(super) fn unavailable(asked: &str, reason: Option<&Exclusion>) -> (ErrorType, String) {
    let because = reason.map(ToString::to_string).unwrap_or_default();
    let (error_type, advice) = match reason {
        Some(Exclusion::Disabled | Exclusion::FeatureOff { .. } | Exclusion::GroupOff { .. }) => (
            ErrorType::ToolDisabled,
            "It can be switched on in the settings. Do not call it again until then.",
        ),
        Some(Exclusion::NotReady { status: Status::Available { .. } }) => (
            ErrorType::NotConfigured,
            "Tell the user which setting is missing. Do not call it again until then.",
        ),
        _ => (
            ErrorType::ToolNotAvailable,
            "Do not call it again; use the tools that were declared to you.",
        ),
    };
    (error_type, format!("Tool {asked} is not available: {because}. {advice}"))
}

fn unknown(flight: &InFlight, asked: &str) -> String {
    let near = near::nearest(&flight.asked, flight.scope.seen.view.names());
    if near.is_empty() {
        return format!(
            "Tool {asked} is not available. Use only the tools that were declared to you."
        );
    }
    format!("Tool {asked} is not available. Did you mean {}?", near.join(", "))
}
