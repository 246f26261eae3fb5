//! One run of a hook's program.

use std::time::Duration;

use serde_json::Value;
use toolcrib_sandbox::process::{End, Limits, Program, Report};

use super::{CommandHook, Surroundings};

/// Bytes of standard output that are kept: room for arguments that a guard writes anew.
const OUT_BYTES: usize = 1024 * 1024;

/// Bytes of standard error that are kept, and characters of it that anybody reads.
const ERROR_BYTES: usize = 16 * 1024;
const ERROR_CHARS: usize = 500;

/// Runs it with this on its input.
///
/// # Errors
/// Why it could not be started, in words.
pub(super) async fn run(
    hook: &CommandHook,
    surroundings: &Surroundings,
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

/// What it says of itself on standard error, without the stops at its end; `None` = nothing.
pub(super) fn words(report: &Report) -> Option<String> {
    let said = report.stderr.last(ERROR_CHARS);
    let said = said.trim_end_matches(['.', ' ', '\n']);
    (!said.is_empty()).then(|| said.to_owned())
}

/// How it ended, when that was not as it should be.
pub(super) fn fault(report: &Report, time: Duration) -> String {
    let how = match report.end {
        End::Exited(code) => format!("it failed with exit code {code}"),
        End::Signalled(signal) => format!("it was ended by signal {signal}"),
        End::TimedOut => format!("it took longer than {} s", time.as_secs_f64()),
        End::Stopped => "it was stopped".to_owned(),
    };
    match words(report) {
        Some(words) => format!("{how}: {words}"),
        None => how,
    }
}
