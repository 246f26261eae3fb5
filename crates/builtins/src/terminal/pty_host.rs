//! The host of a pseudoterminal, inside the sandbox: connects a shell with pipes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::frame::{Frame, TerminalSize};

const BUFFER: usize = 16 * 1024;

/// Runs a shell in a pseudoterminal until it ends; returns its exit code.
pub(super) fn run(shell: Vec<OsString>) -> io::Result<u8> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let open = || -> io::Result<Stdio> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(name.as_c_str(), flags, Mode::empty())?.into())
    };
    // `setsid --ctty` creates a session with the pseudoterminal as controlling terminal. Only a
    // process without threads can do that for itself.
    let mut child = Command::new("setsid")
        .arg("--ctty")
        .args(shell)
        .env("TERM", "xterm-256color")
        .stdin(open()?)
        .stdout(open()?)
        .stderr(open()?)
        .spawn()?;
    let master = File::from(master);
    let typed = master.try_clone()?;
    thread::spawn(move || take_input(typed));
    let (alive, ended) = UnixStream::pair()?;
    let waiter = thread::spawn(move || {
        let status = child.wait();
        drop(alive);
        status
    });
    show_output(master, &ended)?;
    let status =
        waiter.join().map_err(|_| io::Error::other("the wait for the shell panicked"))??;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Forwards the output until the shell has ended and all written output is read.
///
/// The end of the pseudoterminal does not suffice: a program in the background (`server &`) keeps
/// it open after `exit`, and the person would have to wait for that program. The program ends with
/// the sandbox.
fn show_output(mut master: File, ended: &UnixStream) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut buffer = vec![0; BUFFER];
    let mut runs = true;
    loop {
        let mut fds = [PollFd::new(&master, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        // `ended` stays readable after the shell has ended, so stop polling it then.
        let watched = if runs { 2 } else { 1 };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let found = match poll(fds.get_mut(..watched).unwrap_or_default(), (!runs).then_some(&now))
        {
            Err(rustix::io::Errno::INTR) => continue,
            found => found?,
        };
        let [output, end] = fds.map(|fd| !fd.revents().is_empty());
        if found == 0 {
            return Ok(());
        }
        runs &= !end;
        if output {
            // Reading fails when no process has the other side open.
            let Ok(count @ 1..) = master.read(&mut buffer) else { return Ok(()) };
            out.write_all(buffer.get(..count).unwrap_or_default())?;
            out.flush()?;
        }
    }
}

/// Reads input until the pipe ends; then sends the end of input to the shell.
fn take_input(mut master: File) {
    let mut stdin = io::stdin().lock();
    while let Ok(Some(frame)) = Frame::read(&mut stdin) {
        let done = match frame {
            Frame::Input(bytes) => master.write_all(&bytes),
            Frame::Size(size) => resize(&master, size),
        };
        if done.is_err() {
            return;
        }
    }
    // End of transmission: a shell that waits for input ends.
    let _ = master.write_all(&[4]);
}

fn resize(master: &File, TerminalSize { columns, rows }: TerminalSize) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(master.as_fd(), size)?)
}
