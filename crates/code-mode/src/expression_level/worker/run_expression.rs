//! Runs code at the level `expression`: the interpreter stops at every external call, and each is
//! refused.

use std::io::Write;
use std::time::Duration;

use monty::{MontyRun, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter, ResourceLimits, ResourceTracker,
};

use super::exceptions::{self, ErrorPhase};
use super::print_output::PrintOutput;
use super::value_repr::repr;
use crate::worker_protocol::{Run, RunResult};

/// File name of the code in tracebacks.
pub(super) const NAME: &str = "<code>";

/// Recursion limit (the interpreter's default; the stack is that of a main thread, 8 MB).
pub(super) const DEPTH: usize = 1000;

/// Maximum number of external calls before the code is stopped: each raises an exception that the
/// code may catch.
pub(super) const MAX_EXTERNAL_CALLS: usize = 1000;

/// Runs a small script, so that the interpreter's memory is loaded before the first call needs it.
pub(super) fn warm_up() {
    let code = "import json, re\nasync def f(x): return {'a': [x, str(x)]}\nr = []\nfor i in range(3): r.append(f'{i:02}')\njson.dumps(await f(r))";
    let run =
        Run { id: 0, code: code.to_owned(), time_ms: 1000, memory: 64 << 20, mark: String::new() };
    let mut nowhere = std::io::sink();
    let done = self::run(&run, &mut PrintOutput::new(&mut nowhere));
    // The value is discarded; computing it was the purpose.
    drop(serde_json::to_string(&done));
}

/// Runs the code to its end.
pub(super) fn run(run: &Run, output: &mut PrintOutput<'_, impl Write>) -> RunResult {
    let (value, raised) = match compile(run) {
        Err(error) => (None, Some(exceptions::to_exception(&error, ErrorPhase::Compiling))),
        Ok(code) => match execute(code, run, output) {
            Ok(value) => (repr(&value), None),
            Err(error) => (None, Some(exceptions::to_exception(&error, ErrorPhase::Running))),
        },
    };
    // If the output cannot be sent, the reader has ended.
    let _ = output.send();
    RunResult { id: run.id, value, raised, ..RunResult::default() }
}

fn compile(run: &Run) -> Result<MontyRun, MontyException> {
    MontyRun::new(run.code.clone(), NAME, Vec::new(), CompileOptions::default())
}

fn execute(
    code: MontyRun,
    run: &Run,
    output: &mut PrintOutput<'_, impl Write>,
) -> Result<MontyObject, MontyException> {
    let mut limits = ResourceLimits::default()
        .max_duration(Duration::from_millis(run.time_ms))
        .max_recursion_depth(DEPTH);
    // Refuses large allocations before they are made; the process limit stops gradual growth.
    limits.max_memory = usize::try_from(run.memory).ok();
    let tracker = ResourceTracker::new(limits);
    let mut progress = code.start(Vec::new(), tracker, PrintWriter::Callback(output))?;
    for _ in 0..MAX_EXTERNAL_CALLS {
        progress = match progress {
            RunProgress::Complete(value) => return Ok(value),
            stopped => answer_external_call(stopped, PrintWriter::Callback(output))?,
        };
    }
    let text = "the code asked too often for what is not there".to_owned();
    Err(MontyException::new(ExcType::RuntimeError, Some(text)))
}

/// Answers an external call with an exception. Scripts, which may call tools, are answered in
/// `run_script`.
fn answer_external_call(
    stopped: RunProgress,
    print: PrintWriter<'_>,
) -> Result<RunProgress, MontyException> {
    match stopped {
        RunProgress::Complete(_) => Ok(stopped),
        RunProgress::FunctionCall(call) => {
            let name = call.function_name.clone();
            call.resume(ExtFunctionResult::NotFound(name), print)
        }
        RunProgress::NameLookup(lookup) => lookup.resume(NameLookupResult::Undefined, print),
        RunProgress::OsCall(call) => {
            let error = exceptions::not_available(&call.function_call.to_string());
            call.resume(ExtFunctionResult::Error(error), print)
        }
        RunProgress::ResolveFutures(waits) => {
            let text = "the code waits for something that never comes".to_owned();
            waits.abort(MontyException::new(ExcType::RuntimeError, Some(text)), print)
        }
    }
}
