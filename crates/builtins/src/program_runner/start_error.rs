//! Errors for programs that could not be started, as texts for the model.

use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::SandboxError;

/// Creates the error of a call whose program was not started.
#[must_use]
pub fn start_error(error: &SandboxError) -> ToolError {
    let (kind, text) = match error {
        SandboxError::BelowMinimum { minimum, strongest, .. } => (
            ErrorType::SandboxError,
            format!(
                "Programs run here only in a sandbox of the level {minimum}, and this machine gives {strongest}, so nothing was run. Do not try again; tell the user that `toolcrib sandbox status` says what is missing, and that `sandbox.level` in the configuration is what is asked for."
            ),
        ),
        SandboxError::CannotHold { level, what } => (
            ErrorType::SandboxError,
            format!(
                "The sandbox of this machine has the level {level}, which cannot keep {what}, so nothing was run. Do not try again; tell the user that `toolcrib sandbox status` says what is missing."
            ),
        ),
        SandboxError::NoUserland(why) => (
            ErrorType::SandboxError,
            format!("Commands run in a Linux userland here, and nothing was run: {why}. Do not try again; tell the user."),
        ),
        SandboxError::NoMaker { program, remedy } => (
            ErrorType::SandboxError,
            format!(
                "Programs run here only in a sandbox that {program} makes, which is not installed in the folders of the system, so nothing was run. Do not try again; tell the user to {remedy}, or to take `backend` out of `[sandbox]` in the configuration."
            ),
        ),
        SandboxError::NotBy { backend, what } => (
            ErrorType::SandboxError,
            format!(
                "The sandboxes of {backend}, in which programs run here, cannot {what}, so nothing was run. Do not try again; tell the user that another `backend` in `[sandbox]` of the configuration can."
            ),
        ),
        SandboxError::NoProgram(program) => {
            let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
            (
                ErrorType::ExecutionError,
                format!(
                    "The program {name} is not there, so nothing was run. Tell the user to install it; if it is installed in a folder of its own, that folder belongs into `sandbox.path` of the configuration."
                ),
            )
        }
        SandboxError::NotRun { program, .. } => {
            let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
            (ErrorType::ExecutionError, format!("The program {name} is there, but it cannot be run. Tell the user."))
        }
        SandboxError::FolderNotVisible(_) => (
            ErrorType::PathNotAllowed,
            "The folder lies outside of what programs may see, so nothing was run. Use a folder of the workspace.".to_owned(),
        ),
        SandboxError::Path { source, .. } if source.kind() == std::io::ErrorKind::NotFound => (
            ErrorType::FileNotFound,
            "A folder that the program needs does not exist, so nothing was run. Check the folder that you named; if you named none, tell the user that the workspace is gone.".to_owned(),
        ),
        SandboxError::Path { .. } => (
            ErrorType::SandboxError,
            "A folder that the program needs cannot be used, so nothing was run. Tell the user.".to_owned(),
        ),
        _ => (
            ErrorType::SandboxError,
            "The sandbox could not be made, so nothing was run. Tell the user that `toolcrib sandbox status` says what this machine gives.".to_owned(),
        ),
    };
    ToolError::new(kind, text).with_detail(error.to_string())
}
