//! Stage 1: the kill switch, and the switches of sources and tiers.

use toolcrib_core::{ErrorType, EventKind};

use crate::flight::{InFlight, Passed, Step, fail};

pub(crate) fn run(flight: &mut InFlight) -> Step {
    if !flight.engine().tools_enabled() {
        flight.tell(EventKind::ToolsDisabled, |_| ());
        return fail(ErrorType::ToolsDisabled, "Tools are disabled. Answer without calling tools.");
    }
    if let Some(what) = switched_off(flight) {
        flight.tell(EventKind::ToolsDisabled, |_| ());
        return fail(
            ErrorType::ToolsDisabled,
            format!("Tools are disabled for {what}. Do not call {} again.", flight.asked),
        );
    }
    Ok(Passed::PLAIN)
}

/// The source or tier of this tool, when it is switched off.
fn switched_off(flight: &InFlight) -> Option<String> {
    let state = flight.engine().registry.read();
    if state.switches.leave_sources_alone() {
        return None;
    }
    let tool = state.look_up(&flight.asked)?;
    if state.switches.is_source_off(&tool.source) {
        return Some(format!("the source \"{}\"", tool.source));
    }
    state.switches.is_tier_off(tool.spec().tier).then(|| "this kind of tool".to_owned())
}
