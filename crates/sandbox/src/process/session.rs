//! A separate session for a program: the program leads a process group and has no terminal.

use std::io;

use rustix::process::setsid;
use tokio::process::Command;

/// Makes the program lead a new session and process group. It then has no controlling terminal: it
/// cannot write next to a question to the person, read their keys, or be stopped for trying to
/// (termios(3)).
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
