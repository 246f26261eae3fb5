//! Stage 2: the name becomes an entry in the caller's view. Suggested names come from that view
//! only, so that no name outside it is disclosed.

use std::sync::Arc;

use toolcrib_core::{ErrorType, Exclusion, Status, suggest};

use super::action_alias;
use super::phase::{Enabled, Resolved};
use super::step::{StagePass, StageResult, fail};
use crate::call_state::CallState;

/// Characters of a wrong name that are repeated to the model.
const MAX_NAME_CHARS: usize = 100;

pub(crate) fn run(call: &mut CallState, Enabled(()): Enabled) -> StageResult<Resolved> {
    action_alias::resolve_action(call)?;
    let view = Arc::clone(&call.scope.resolved_view);
    let Some(tool) = view.find(&call.asked) else { return not_in_view(call) };
    call.facts.tool = Some(Arc::clone(tool));
    let Some(handler) = tool.entry.handler() else {
        return fail(
            ErrorType::ToolNotAvailable,
            format!(
                "Tool {} is not available here: the provider runs it, and its result comes with the model's own answer.",
                call.asked
            ),
        );
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
        return fail(ErrorType::ToolNotFound, unknown(call, &asked));
    };
    let reason = call.scope.resolved_view.exclusion(&tool.spec().name);
    let (error_type, text) = unavailable(&asked, reason);
    call.facts.tool = Some(tool);
    fail(error_type, text)
}

/// The error for a tool that is registered but not for this caller.
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

fn unknown(call: &CallState, asked: &str) -> String {
    let near = suggest::similar_names(&call.asked, call.scope.resolved_view.view.names());
    if near.is_empty() {
        return format!(
            "Tool {asked} is not available. Use only the tools that were declared to you."
        );
    }
    format!("Tool {asked} is not available. Did you mean {}?", near.join(", "))
}
