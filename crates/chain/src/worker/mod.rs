//! The interpreter: this executable in another role. It runs one piece of code and ends.

mod fault;
mod interpret;
mod output;
mod script;
mod show;
mod values;
mod watchdog;

use std::ffi::OsString;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::frame;
use crate::protocol::{Order, PROTOCOL, Said};
use watchdog::Watchdog;

/// The word that makes this executable the interpreter.
pub(crate) const ROLE: &str = "python-worker";

/// Bytes of orders that are read at once.
const BUFFER: usize = 16 << 10;

/// What interprets.
pub(crate) const ENGINE: &str = concat!("monty ", "0.0.23");

/// Does the work of the interpreter if these arguments, those after the name of the program, say so. The result is the exit code.
///
/// To be called at the beginning of a program, before it makes threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(word), None) if word == ROLE => Some(u8::from(serve().is_err())),
        _ => None,
    }
}

/// Says that it is there, and does what it is told once. Whoever told it closes its orders when it is to end: taking a process apart takes time,
/// which is not that of the call.
fn serve() -> io::Result<()> {
    let mut out = io::stdout();
    interpret::warm_up();
    let watchdog = Watchdog::start()?;
    let size = size()?;
    let ready = Said::Ready { protocol: PROTOCOL, engine: ENGINE.to_owned() };
    frame::write(&mut out, &ready)?;
    // The head and the body of a message are one read.
    let mut from = io::BufReader::with_capacity(BUFFER, io::stdin().lock());
    match frame::read(&mut from)? {
        Some(Order::Run(run)) => {
            bound(size, run.memory, run.time_ms)?;
            watchdog.watch(run.time_ms);
            let done = interpret::run(&run, &mut output::Output::new(&mut out));
            watchdog.rest();
            frame::write(&mut out, &Said::Done(done))?;
        }
        Some(Order::Script(script)) => {
            bound(size, script.memory, script.time_ms)?;
            watchdog.watch(script.time_ms);
            script::run(script, &watchdog, &mut from, &mut out)?;
        }
        Some(Order::Thaw(thaw)) => {
            bound(size, thaw.memory, thaw.time_ms)?;
            watchdog.watch(thaw.time_ms);
            script::thaw(thaw, &watchdog, &mut from, &mut out)?;
        }
        // Nobody wanted it.
        _ => return Ok(()),
    }
    watchdog.rest();
    frame::read::<Order>(&mut from).map(drop)
}

/// No allocation succeeds beyond what this process had before it saw the code and so many bytes more. What asks for it ends the process, at once:
/// the interpreter's own limit needs an allocator of its own in the whole executable (research, 1.1), and this bounds all of it. Beyond its time it
/// gets no processor either, whatever becomes of those who watch it.
fn bound(size: u64, memory: u64, time_ms: u64) -> io::Result<()> {
    at_most(Resource::As, size.saturating_add(memory))?;
    at_most(Resource::Cpu, time_ms.div_ceil(1000).saturating_add(1))
}

fn at_most(what: Resource, limit: u64) -> io::Result<()> {
    let limit = getrlimit(what).maximum.map_or(limit, |maximum| limit.min(maximum));
    Ok(setrlimit(what, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// Bytes of address space that this process has now.
fn size() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm has another form"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
