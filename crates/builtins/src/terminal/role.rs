//! The role of this executable that hosts a pseudoterminal.

use std::ffi::OsString;

/// The first argument that selects the role.
const ROLE: &str = "terminal-host";

/// Runs the host of a pseudoterminal if the arguments (without the program name) select it; returns
/// the exit code.
///
/// Call it first in `main`, before the program reads anything.
#[must_use]
#[expect(clippy::print_stderr, reason = "a worker has no other way to say why it ends")]
pub fn worker_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    if args.next()? != ROLE {
        return None;
    }
    #[cfg(unix)]
    let ended = super::pty_host::run(args.collect());
    #[cfg(not(unix))]
    let ended = {
        drop(args);
        Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
    };
    Some(ended.unwrap_or_else(|error| {
        eprintln!("toolcrib: no terminal can be made here: {error}");
        1
    }))
}

/// Returns the arguments that select the role, for this shell.
pub(super) fn role_args(shell: &[&str]) -> Vec<OsString> {
    std::iter::once(ROLE).chain(shell.iter().copied()).map(Into::into).collect()
}
