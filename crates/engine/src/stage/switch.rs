//! Stage 1: the kill switch, and the switches of sources and tiers.

use toolcrib_core::{ErrorType, EventKind, ToolError};

use super::phase::{Enabled, Received};
use super::step::{StageExit, StagePass, StageResult};
use crate::call_state::CallState;

pub(crate) fn run(call: &mut CallState, Received(()): Received) -> StageResult<Enabled> {
    if !call.engine().tools_enabled() {
        call.emit(EventKind::ToolsDisabled, |_| ());
        return Err(StageExit::Fail(call.engine().tools_disabled()));
    }
    if let Some(what) = switched_off(call) {
        call.emit(EventKind::ToolsDisabled, |_| ());
        let error =
            ToolError::new(ErrorType::ToolsDisabled, format!("Tools are disabled for {what}."))
                .with_instruction(&format!("Do not call {} again.", call.asked));
        return Err(StageExit::Fail(error));
    }
    Ok(StagePass::plain(Enabled(())))
}

/// Returns the source or tier of this tool, if it is switched off.
fn switched_off(call: &CallState) -> Option<String> {
    let state = call.engine().registry.read();
    if state.switches.has_no_source_or_tier() {
        return None;
    }
    let tool = state.find_any_spelling(&call.asked)?;
    if state.switches.is_source_off(&tool.source) {
        return Some(format!("the source \"{}\"", tool.source));
    }
    state.switches.is_tier_off(tool.spec().tier).then(|| "this kind of tool".to_owned())
}
