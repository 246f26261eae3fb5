//! Terminals: shells for a person in the sandbox of programs, each with its own pseudoterminal.
//!
//! This executable in another role ([`worker_entry`]) creates the pseudoterminal inside the
//! sandbox. It communicates with the daemon over pipes, like every program in the sandbox. A
//! terminal stores the end of its output, so that a client that reconnects sees its screen.

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
