//! Code run step by step: the interpreter stops wherever it would need somebody, and is told that nobody is there.

use std::io::Write;
use std::time::Duration;

use monty::{MontyRun, RunProgress};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter, ResourceLimits, ResourceTracker,
};

use super::fault::{self, When};
use super::output::Output;
use super::show::shown;
use crate::protocol::{Done, Run};

/// The name of the code in tracebacks.
pub(super) const NAME: &str = "<code>";

/// Functions in functions (the interpreter's own default; its stack is that of a main thread, 8 MB).
pub(super) const DEPTH: usize = 1000;

/// How often code may stop for something that is not there, before it is ended: each is an exception that it may catch.
pub(super) const STOPS: usize = 1000;

/// Runs something small, so that what the interpreter needs is in memory before anybody waits for it.
pub(super) fn warm_up() {
    let code = "import json, re\nasync def f(x): return {'a': [x, str(x)]}\nr = []\nfor i in range(3): r.append(f'{i:02}')\njson.dumps(await f(r))";
    let run =
        Run { id: 0, code: code.to_owned(), time_ms: 1000, memory: 64 << 20, mark: String::new() };
    let mut nowhere = std::io::sink();
    let done = self::run(&run, &mut Output::new(&mut nowhere));
    // Its value says nothing; what it needed is there.
    drop(serde_json::to_string(&done));
}

/// Runs it to its end.
pub(super) fn run(run: &Run, output: &mut Output<'_, impl Write>) -> Done {
    let (value, raised) = match compile(run) {
        Err(error) => (None, Some(fault::raised(&error, When::Compiling))),
        Ok(code) => match execute(code, run, output) {
            Ok(value) => (shown(&value), None),
            Err(error) => (None, Some(fault::raised(&error, When::Running))),
        },
    };
    // What cannot be sent is not wanted any more.
    let _ = output.send();
    Done { id: run.id, value, raised, ..Done::default() }
}

fn compile(run: &Run) -> Result<MontyRun, MontyException> {
    MontyRun::new(run.code.clone(), NAME, Vec::new(), CompileOptions::default())
}

fn execute(
    code: MontyRun,
    run: &Run,
    output: &mut Output<'_, impl Write>,
) -> Result<MontyObject, MontyException> {
    let mut limits = ResourceLimits::default()
        .max_duration(Duration::from_millis(run.time_ms))
        .max_recursion_depth(DEPTH);
    // Refuses what is too large before it is made; what grows slowly meets the limit of the process.
    limits.max_memory = usize::try_from(run.memory).ok();
    let tracker = ResourceTracker::new(limits);
    let mut progress = code.start(Vec::new(), tracker, PrintWriter::Callback(output))?;
    for _ in 0..STOPS {
        progress = match progress {
            RunProgress::Complete(value) => return Ok(value),
            stopped => answer(stopped, PrintWriter::Callback(output))?,
        };
    }
    let text = "the code asked too often for what is not there".to_owned();
    Err(MontyException::new(ExcType::RuntimeError, Some(text)))
}

/// Tells a stopped interpreter that there is nothing outside of it. Scripts, which may call tools, are answered in `script`.
fn answer(stopped: RunProgress, print: PrintWriter<'_>) -> Result<RunProgress, MontyException> {
    match stopped {
        RunProgress::Complete(_) => Ok(stopped),
        RunProgress::FunctionCall(call) => {
            let name = call.function_name.clone();
            call.resume(ExtFunctionResult::NotFound(name), print)
        }
        RunProgress::NameLookup(lookup) => lookup.resume(NameLookupResult::Undefined, print),
        RunProgress::OsCall(call) => {
            let error = fault::nothing_outside(&call.function_call.to_string());
            call.resume(ExtFunctionResult::Error(error), print)
        }
        RunProgress::ResolveFutures(waits) => {
            let text = "the code waits for something that never comes".to_owned();
            waits.abort(MontyException::new(ExcType::RuntimeError, Some(text)), print)
        }
    }
}
