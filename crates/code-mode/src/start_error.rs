//! Errors of starting the sandbox, a worker or a kernel, as messages for the model.

use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::SandboxError;

/// Returns the error of a call whose sandbox could not be created; no code has run.
pub(crate) fn start_error(error: &SandboxError) -> ToolError {
    let text = match error {
        SandboxError::BelowMinimum { minimum, strongest, .. } => format!(
            "Code runs here only in a sandbox of the level {minimum}, and this machine gives {strongest}, so nothing was run."
        ),
        SandboxError::CannotHold { level, what } => format!(
            "The sandbox of this machine has the level {level}, which cannot keep {what}, so nothing was run."
        ),
        SandboxError::NoMaker { program, remedy } => {
            return ToolError::new(
                ErrorType::SandboxError,
                format!(
                    "Code runs here only in a sandbox that {program} makes, which is not installed in the folders of the system, so nothing was run. Do not try again; tell the user to {remedy}, or to take `backend` out of `[sandbox]` in the configuration."
                ),
            )
            .with_detail(error.to_string());
        }
        SandboxError::NotBy { backend, what } => format!(
            "The sandboxes of {backend}, which `backend` in `[sandbox]` of the configuration names, cannot {what}, so nothing was run."
        ),
        _ => "The sandbox could not be made, so nothing was run.".to_owned(),
    };
    let advice = "Do not try again; tell the user that `toolcrib sandbox status` says what this machine gives.";
    ToolError::new(ErrorType::SandboxError, format!("{text} {advice}"))
        .with_detail(error.to_string())
}

/// Returns the error of a call whose worker or kernel started but did not become ready; no code has
/// run.
pub(crate) fn not_ready(what: &str, detail: impl Into<String>) -> ToolError {
    let text = format!(
        "{what} did not start, so nothing was run. Try once more; if it fails again, tell the user that `toolcrib python status` says more."
    );
    ToolError::new(ErrorType::SandboxError, text).with_detail(detail)
}
