//! The binary at a terminal: a pseudo-terminal of 80 by 24, its content as text, and keys.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Timeout of expected output; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval of repeated key presses.
const AGAIN: Duration = Duration::from_millis(500);

/// A running command.
pub(crate) struct Terminal {
    child: Child,
    /// The person's side.
    person: OwnedFd,
    /// The command's side, kept open for checking its modes.
    tty: File,
    shown: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// Number of bytes that were already matched.
    seen: usize,
}

impl Terminal {
    /// Starts a command with all its streams on the terminal, without colors.
    pub(crate) fn start(mut command: Command) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&person, size).unwrap();
        let path = std::ffi::OsString::from_vec(ptsname(&person, Vec::new()).unwrap().into_bytes());
        let no_controlling_terminal = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let mut options = File::options();
        options.read(true).write(true).custom_flags(no_controlling_terminal);
        let tty = options.open(path).unwrap();
        let end = || Stdio::from(tty.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm").env("NO_COLOR", "1");
        let child = command.spawn().unwrap();
        let mut screen = File::from(person.try_clone().unwrap());
        let (send, shown) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, person, tty, shown, bytes: Vec::new(), seen: 0 }
    }

    /// Waits until these words appear after those that were matched before.
    #[track_caller]
    pub(crate) fn sees(&mut self, words: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let rest = &self.bytes[self.seen..];
            if let Some(at) =
                rest.windows(words.len()).position(|window| window == words.as_bytes())
            {
                self.seen += at + words.len();
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{words:?} is not shown: {}", String::from_utf8_lossy(rest))
                }
            }
        }
    }

    /// Returns all output so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Presses keys.
    #[track_caller]
    pub(crate) fn types(&mut self, keys: &str) {
        File::from(self.person.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    /// Presses keys repeatedly until these words appear.
    #[track_caller]
    pub(crate) fn types_until(&mut self, keys: &str, words: &str) {
        let end = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&self.bytes[self.seen..]).contains(words) {
            assert!(Instant::now() < end, "{words:?} is not shown: {}", self.text());
            self.types(keys);
            if let Ok(bytes) = self.shown.recv_timeout(AGAIN) {
                self.bytes.extend(bytes);
            }
        }
        self.sees(words);
    }

    /// Waits for the end; returns the exit code. The mode of the terminal must be restored.
    #[track_caller]
    pub(crate) fn ends(mut self) -> i32 {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "the command hangs: {}", self.text());
            if let Ok(bytes) = self.shown.recv_timeout(Duration::from_millis(20)) {
                self.bytes.extend(bytes);
            }
        };
        let modes = tcgetattr(&self.tty).unwrap().local_modes;
        let usual = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        assert!(modes.contains(usual), "the terminal is left in another mode: {modes:?}");
        status.code().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The process has already ended after `ends`; a failed test must not leave it behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
