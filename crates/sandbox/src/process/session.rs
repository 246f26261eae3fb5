//! A session of its own for a program: it leads a process group, and has no terminal.

use std::io;

use rustix::process::setsid;
use tokio::process::Command;

/// The program will lead a new session and process group. It has no controlling terminal then: it
/// can neither write beside a question to the person, nor read their keys, nor be stopped for
/// trying to (termios(3)).
#[expect(unsafe_code, reason = "nothing else says what a child does before it becomes its program")]
pub(super) fn start_in_new(command: &mut Command) {
    let enter = || -> io::Result<()> {
        setsid()?;
        #[cfg(target_os = "linux")]
        super::tool_mark::mark_this_process()?;
        Ok(())
    };
    // SAFETY: only async-signal-safe code is allowed between fork and exec. These are direct system
    // calls; an error is a plain number; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(enter) };
}
