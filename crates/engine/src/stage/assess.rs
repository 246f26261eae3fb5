//! Stage 6: what this very call means: operation, risk, effect, reach, permissions, lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolcrib_core::{Assessment, ErrorType};

use crate::flight::{InFlight, Passed, Step, Stop, fail};

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let tool = Arc::clone(flight.tool()?);
    let Some(handler) = tool.entry.handler() else {
        return fail(
            ErrorType::ToolNotAvailable,
            format!("Tool {} is not run here.", flight.asked),
        );
    };
    let mut assessed = catch_unwind(AssertUnwindSafe(|| handler.assess(&flight.args)))
        .unwrap_or_else(|_| {
            // The arguments were never judged, so the call must not run.
            Err(toolcrib_core::ToolError::new(
                ErrorType::Crashed,
                format!(
                    "Tool {} broke while its arguments were assessed; it was not run.",
                    tool.spec().name
                ),
            ))
        })
        .map_err(Stop::Fail)?;
    if tool.remote {
        keep_declared(&mut assessed, tool.spec());
    }
    let note = assessed.summary.clone();
    flight.assessment = Some(assessed);
    Ok(note.map_or(Passed::PLAIN, Passed::noting))
}

/// Only code of this process may say that a call is less than its definition declares.
fn keep_declared(assessed: &mut Assessment, spec: &toolcrib_core::ToolSpec) {
    let name = spec.name.as_str();
    // Nor may it speak to policy under another tool's name.
    assessed.operation = assessed.operation.take().filter(|operation| {
        operation.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    assessed.risk = assessed.risk.max(spec.risk);
    assessed.effect = assessed.effect.max(spec.effect);
    assessed.reach.outbound |= spec.reach.outbound;
    assessed.reach.exec |= spec.reach.exec;
    assessed.reach.private_read |= spec.reach.private_read;
}
