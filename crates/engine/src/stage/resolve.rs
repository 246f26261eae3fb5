//! Stage 2: looks up the name in the caller's view. Suggested names come from that view only, so
//! that no name outside it is disclosed.

use std::sync::Arc;

use toolcrib_core::{ErrorType, Exclusion, Obstacle, Status, ToolError, ToolSpec, similar_names};

use super::action_alias;
use super::phase::{Enabled, Resolved};
use super::step::{StageExit, StagePass, StageResult};
use crate::call_state::CallState;

/// Maximum characters of a wrong name that the message to the model repeats.
const MAX_NAME_CHARS: usize = 100;

pub(crate) fn run(call: &mut CallState, Enabled(()): Enabled) -> StageResult<Resolved> {
    action_alias::resolve_action(call)?;
    let view = Arc::clone(&call.scope.resolved_view);
    let Some(tool) = view.find(&call.asked) else { return not_in_view(call) };
    call.facts.tool = Some(Arc::clone(tool));
    let Some(handler) = tool.entry.handler() else {
        let text = format!(
            "Tool {} is not available here: the provider runs it, and its result comes with the model's own answer.",
            call.asked
        );
        return Err(StageExit::Fail(ToolError::new(ErrorType::ToolNotAvailable, text)));
    };
    let resolved = Resolved { tool: Arc::clone(tool), handler: Arc::clone(handler) };
    if tool.spec().name.as_str() == call.asked {
        return Ok(StagePass::plain(resolved));
    }
    let note = format!("{} is {}", call.asked, tool.spec().name);
    Ok(StagePass::with_note(resolved, note))
}

fn not_in_view(call: &mut CallState) -> StageResult<Resolved> {
    let asked: String = call.asked.chars().take(MAX_NAME_CHARS).collect();
    let state = call.engine().registry.read();
    let tool = state.find_any_spelling(&call.asked).map(Arc::clone);
    drop(state);
    let Some(tool) = tool else {
        return Err(StageExit::Fail(unknown(call, &asked)));
    };
    let reason = call.scope.resolved_view.exclusion(&tool.spec().name);
    let error = unavailable(&asked, reason, Some(tool.spec()));
    call.facts.tool = Some(tool);
    Err(StageExit::Fail(error))
}

/// Returns the error for a tool that is registered but not available to this caller. Its definition
/// describes the missing settings.
pub(super) fn unavailable(
    asked: &str,
    reason: Option<&Exclusion>,
    spec: Option<&ToolSpec>,
) -> ToolError {
    let mut because = reason.map(ToString::to_string).unwrap_or_default();
    if let Some(Exclusion::NotReady { status: Status::Available { missing } }) = reason {
        let keys = spec.into_iter().flat_map(|spec| &spec.config);
        for key in keys.filter(|key| missing.contains(&key.key) && !key.description.is_empty()) {
            because.push_str(&format!(". {}", key.description.trim_end_matches('.')));
        }
    }
    let (error_type, instruction) = match reason {
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
    let error = ToolError::new(error_type, format!("Tool {asked} is not available: {because}."))
        .with_instruction(instruction);
    match reason {
        Some(reason) => error.with_obstacle(Obstacle::Excluded { reason: reason.clone() }),
        None => error,
    }
}

fn unknown(call: &CallState, asked: &str) -> ToolError {
    let near = similar_names::similar_names(&call.asked, call.scope.resolved_view.view.names());
    let missing = |text| ToolError::new(ErrorType::ToolNotFound, text);
    if near.is_empty() {
        return missing(format!("Tool {asked} is not available."))
            .with_instruction("Use only the tools that were declared to you.");
    }
    missing(format!("Tool {asked} is not available. Did you mean {}?", near.join(", ")))
}
