//! The sandbox of Linux.

mod attempts;
mod bubblewrap;
mod cgroup;
mod changes;
mod command;
mod control;
mod filter;
mod gvisor;
mod here;
mod keeper;
mod local;
mod other_root;
mod plan;
mod probe;
mod proot;
mod questions;
mod root;
mod rules;
mod start;
mod stranger;
mod sys;
mod tree;
mod watch;
mod worker;

pub use bubblewrap::Bubblewrap;
pub use gvisor::Gvisor;
pub use here::run_here;
pub use local::Local;
pub(crate) use root::open_really;
pub(crate) use sys::forget_pages;

use std::ffi::OsString;

/// Does the work of the sandbox helper if these arguments, those after the name of the program, say so. The result is the exit code.
///
/// To be called at the very beginning of a program, before it makes threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(word), None) if word == worker::ROLE => Some(worker::serve()),
        _ => None,
    }
}
