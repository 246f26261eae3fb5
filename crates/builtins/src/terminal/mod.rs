//! Terminals: shells for a person in the sandbox of programs, each with its own pseudoterminal.
//!
//! The pseudoterminal is made inside the sandbox, by this executable in another role
//! ([`worker_entry`]); it speaks to the daemon over pipes, as every program in the sandbox does.
//! A terminal keeps the end of what it has shown, so that a client that comes back sees its screen.

mod command_marks;
mod frame;
#[cfg(unix)]
mod pty_host;
mod role;
mod screen;
mod terminals;

pub use command_marks::CommandMarks;
pub use frame::{Frame, TerminalSize};
pub use role::worker_entry;
pub use screen::OutputPart;
pub use terminals::{Terminal, Terminals};
