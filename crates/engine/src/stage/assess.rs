//! Stage 6: assesses this call: operation, risk, effect, reach, permissions, lock.

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolcrib_core::{Assessment, ErrorType, ToolError, ToolSpec};

use super::phase::{Assessed, Guarded, Plan};
use super::step::{StagePass, StageResult};
use crate::call_state::{AssessedFacts, CallState};

pub(crate) fn run(call: &mut CallState, Guarded(request): Guarded) -> StageResult<Assessed> {
    let (handler, tool, args) = (&request.handler, &request.tool, &request.args.value);
    let mut assessment =
        catch_unwind(AssertUnwindSafe(|| handler.assess(args))).unwrap_or_else(|_| {
            // The arguments were never assessed, so the call must not run.
            Err(ToolError::new(
                ErrorType::Crashed,
                format!(
                    "Tool {} broke while its arguments were assessed; it was not run.",
                    tool.spec().name
                ),
            ))
        })?;
    if tool.remote {
        keep_declared(&mut assessment, tool.spec());
    }
    call.facts.assessed = Some(AssessedFacts::from(&assessment));
    let note = assessment.summary.clone();
    let assessed = Assessed(Box::new(Plan { request, assessment }));
    Ok(match note {
        Some(note) => StagePass::with_note(assessed, note),
        None => StagePass::plain(assessed),
    })
}

/// Keeps the declared minimum of a remote tool: only code of this process may assess a call below
/// its definition.
fn keep_declared(assessed: &mut Assessment, spec: &ToolSpec) {
    let name = spec.name.as_str();
    // A remote tool must not present itself to policy under another tool's name.
    assessed.operation = assessed.operation.take().filter(|operation| {
        operation.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    assessed.risk = assessed.risk.max(spec.risk);
    assessed.effect = assessed.effect.max(spec.effect);
    assessed.reach.outbound |= spec.reach.outbound;
    assessed.reach.exec |= spec.reach.exec;
    assessed.reach.private_read |= spec.reach.private_read;
}
