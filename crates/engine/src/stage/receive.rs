//! Stage 0: the call is counted. From here on it gets its one outcome in every case.

use toolcrib_core::ErrorType;

use super::phase::Received;
use super::step::{StagePass, StageResult, fail};
use crate::call_state::CallState;

pub(crate) fn run(call: &mut CallState) -> StageResult<Received> {
    if !call.is_dry_run() {
        call.engine().count();
    }
    if call.asked.trim().is_empty() {
        return fail(
            ErrorType::ValidationError,
            "The tool name is empty. Name the tool that should be called.",
        );
    }
    if call.resumed.is_some() {
        return Ok(StagePass::with_note(Received(()), "enters again with a decision"));
    }
    Ok(StagePass::plain(Received(())))
}
