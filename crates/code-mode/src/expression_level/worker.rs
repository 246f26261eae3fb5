//! The interpreter worker: this executable in another role. It runs one piece of code and exits.

mod exceptions;
mod json_values;
mod print_output;
mod run_expression;
mod run_script;
mod value_repr;
mod watchdog;

use std::ffi::OsString;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::framing;
use crate::worker_protocol::{PROTOCOL, WorkerCommand, WorkerMessage};
use watchdog::Watchdog;

/// The argument that selects this role of the executable.
pub(crate) const ROLE: &str = "python-worker";

/// Read buffer for commands, in bytes.
const BUFFER: usize = 16 << 10;

/// Name and version of the interpreter.
pub(crate) const ENGINE: &str = concat!("monty ", "0.0.23");

/// Runs the interpreter worker if these arguments (those after the program name) select it. Returns
/// the exit code.
///
/// Call it at the beginning of a program, before it starts threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(word), None) if word == ROLE => Some(u8::from(serve().is_err())),
        _ => None,
    }
}

/// Reports that it is ready and executes one command. The parent closes the command stream when the
/// process may exit: the teardown takes time that must not count towards the call.
fn serve() -> io::Result<()> {
    let mut out = io::stdout();
    run_expression::warm_up();
    let watchdog = Watchdog::start()?;
    let size = size()?;
    let ready = WorkerMessage::Ready { protocol: PROTOCOL, engine: ENGINE.to_owned() };
    framing::write(&mut out, &ready)?;
    // Buffered, so that header and body of a message take one read.
    let mut from = io::BufReader::with_capacity(BUFFER, io::stdin().lock());
    match framing::read(&mut from)? {
        Some(WorkerCommand::Run(run)) => {
            bound(size, run.memory, run.time_ms)?;
            watchdog.watch(run.time_ms);
            let done = run_expression::run(&run, &mut print_output::PrintOutput::new(&mut out));
            watchdog.pause();
            framing::write(&mut out, &WorkerMessage::Done(done))?;
        }
        Some(WorkerCommand::Script(script)) => {
            bound(size, script.memory, script.time_ms)?;
            watchdog.watch(script.time_ms);
            run_script::run(script, &watchdog, &mut from, &mut out)?;
        }
        Some(WorkerCommand::Resume(thaw)) => {
            bound(size, thaw.memory, thaw.time_ms)?;
            watchdog.watch(thaw.time_ms);
            run_script::resume(thaw, &watchdog, &mut from, &mut out)?;
        }
        // The worker was not needed.
        _ => return Ok(()),
    }
    watchdog.pause();
    framing::read::<WorkerCommand>(&mut from).map(drop)
}

/// Limits the address space to its size before the code arrived plus `memory`, and the CPU time. A
/// failed allocation terminates the process immediately: the interpreter's own memory limit would
/// need a special allocator in the whole executable, while this limit covers every allocation. The
/// CPU limit works even if the watchdog fails.
fn bound(size: u64, memory: u64, time_ms: u64) -> io::Result<()> {
    at_most(Resource::As, size.saturating_add(memory))?;
    at_most(Resource::Cpu, time_ms.div_ceil(1000).saturating_add(1))
}

fn at_most(what: Resource, limit: u64) -> io::Result<()> {
    let limit = getrlimit(what).maximum.map_or(limit, |maximum| limit.min(maximum));
    Ok(setrlimit(what, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// Returns the current size of the address space, in bytes.
fn size() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm has another form"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
