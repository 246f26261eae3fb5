//! The interpreter: this executable in another role. It runs one piece of code and ends.

mod fault;
mod interpret;
mod output;
mod script;
mod show;
mod values;

use std::ffi::OsString;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::frame;
use crate::protocol::{Order, PROTOCOL, Said};

/// The word that makes this executable the interpreter.
pub(crate) const ROLE: &str = "python-worker";

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

/// Says that it is there, and does what it is told once.
fn serve() -> io::Result<()> {
    let mut out = io::stdout();
    let ready = Said::Ready { protocol: PROTOCOL, engine: ENGINE.to_owned() };
    frame::write(&mut out, &ready)?;
    let mut from = io::stdin().lock();
    match frame::read(&mut from)? {
        Some(Order::Run(run)) => {
            bound_memory(run.memory)?;
            let done = interpret::run(&run, &mut output::Output::new(&mut out));
            frame::write(&mut out, &Said::Done(done))
        }
        Some(Order::Script(script)) => {
            bound_memory(script.memory)?;
            script::run(script, &mut from, &mut out)
        }
        Some(Order::Thaw(thaw)) => {
            bound_memory(thaw.memory)?;
            script::thaw(thaw, &mut from, &mut out)
        }
        // Nobody wanted it.
        _ => Ok(()),
    }
}

/// No allocation succeeds beyond what this process has now and so many bytes more. What asks for it ends the process, at once: the
/// interpreter's own limit needs an allocator of its own in the whole executable (research, 1.1), and this bounds all of it.
fn bound_memory(bytes: u64) -> io::Result<()> {
    let limit = Some(size()?.saturating_add(bytes));
    let Rlimit { maximum, .. } = getrlimit(Resource::As);
    let limit = match (limit, maximum) {
        (Some(limit), Some(maximum)) => Some(limit.min(maximum)),
        (limit, _) => limit,
    };
    Ok(setrlimit(Resource::As, Rlimit { current: limit, maximum: limit })?)
}

/// Bytes of address space that this process has now.
fn size() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm has another form"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
