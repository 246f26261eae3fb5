//! Stage 11: "started" is recorded before anything runs. No intent record, no run.

use toolcrib_core::{ErrorType, Intent, canonical};

use super::gates;
use crate::flight::{InFlight, Passed, Step, fail};

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    if !flight.engine().registry.tools_enabled() {
        return fail(ErrorType::ToolsDisabled, "Tools are disabled. Answer without calling tools.");
    }
    if flight.approved_by.is_some() {
        gates::still_allowed(flight)?;
    }
    let tool = flight.tool()?;
    let effect = flight.assessed()?.effect;
    let intent = Intent {
        call: flight.call,
        run: flight.scope.run.as_ref().map(|run| run.id),
        tool: tool.spec().name.clone(),
        origin: flight.scope.origin,
        effect,
        context: std::sync::Arc::clone(&flight.scope.context),
        // What may run again after a crash needs no proof of what exactly was run.
        args_hash: (!effect.is_repeatable()).then(|| canonical::sha256(flight.shown_args())),
        epoch: flight.engine().epoch(),
    };
    match flight.engine().calls.begin(intent).await {
        Ok(()) => {
            flight.started = true;
            Ok(Passed::PLAIN)
        }
        Err(error) => fail(
            ErrorType::ExecutionError,
            format!("The call could not be recorded ({error}), so it was not run."),
        ),
    }
}
