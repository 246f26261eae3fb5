//! Runs a hook program once.

use std::time::Duration;

use serde_json::Value;
use toolcrib_sandbox::process::{End, Limits, Program, Report};

use super::{CommandHook, HookContext};

/// Capture limit of standard output, in bytes: room for rewritten arguments.
const OUT_BYTES: usize = 1024 * 1024;

/// Capture limit of standard error, in bytes, and the characters of it that are reported.
const ERROR_BYTES: usize = 16 * 1024;
const ERROR_CHARS: usize = 500;

/// Runs the program with this input.
///
/// # Errors
/// The reason why it could not be started, as text.
pub(super) async fn run_hook_program(
    hook: &CommandHook,
    surroundings: &HookContext,
    context: &Value,
) -> Result<Report, String> {
    let Some((program, args)) = hook.command.split_first() else {
        return Err("it names no program".to_owned());
    };
    let mut program = Program::new(program, &surroundings.folder)
        .args(args)
        .stdin(format!("{context}\n"))
        .limits(Limits { time: hook.time, stdout: OUT_BYTES, stderr: ERROR_BYTES });
    for (name, value) in &hook.env {
        program = program.env(name, value);
    }
    program = program.env("TOOLCRIB_HOOK", hook.event.as_str());
    program.run(std::future::pending()).await.map_err(|error| error.to_string())
}

/// Returns the text on standard error, without final periods; `None` if it is empty.
pub(super) fn stderr_text(report: &Report) -> Option<String> {
    let said = report.stderr.last(ERROR_CHARS);
    let said = said.trim_end_matches(['.', ' ', '\n']);
    (!said.is_empty()).then(|| said.to_owned())
}

/// Describes the failure of a program.
pub(super) fn failure_text(report: &Report, time: Duration) -> String {
    let how = match report.end {
        End::Exited(code) => format!("it failed with exit code {code}"),
        End::Signalled(signal) => format!("it was ended by signal {signal}"),
        End::TimedOut => format!("it took longer than {} s", time.as_secs_f64()),
        End::Stopped => "it was stopped".to_owned(),
    };
    match stderr_text(report) {
        Some(words) => format!("{how}: {words}"),
        None => how,
    }
}
