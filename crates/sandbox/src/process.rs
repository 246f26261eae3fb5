//! One program, run to its end within bounds.

mod capture;
mod error;
mod group;
mod look_up;
#[cfg(target_os = "linux")]
mod starter;

pub use capture::{Capture, Captured};
pub use error::StartError;
pub use look_up::look_up;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::Level;
use group::Group;

/// Where programs are looked for unless a `PATH` is given: the usual folders of the system, nothing of the user's.
#[cfg(not(target_os = "macos"))]
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where programs are looked for unless a `PATH` is given: the usual folders of the system, nothing of the user's.
#[cfg(target_os = "macos")]
pub const DEFAULT_PATH: &str =
    "/opt/homebrew/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/bin:/usr/sbin:/sbin";

/// How long a group may go on after `SIGTERM` before it is killed.
pub const GRACE: Duration = Duration::from_millis(500);

/// How long the streams are read on after the leader ended: what it wrote is there at once, what a process left behind writes is not
/// its answer.
const SETTLE: Duration = Duration::from_millis(200);

/// How long a killed leader is waited for. Only a process stuck in the kernel needs longer; it is reaped when it gets free.
const REAP: Duration = Duration::from_secs(2);

/// Times that a start is tried while somebody has the file open for writing (an editor that saves it), and the wait between them.
const BUSY_TRIES: u32 = 10;
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// What one program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall time from start to end.
    pub time: Duration,
    /// Bytes kept of standard output, half of them from its beginning and half from its end.
    pub stdout: usize,
    /// Bytes kept of standard error, in the same way.
    pub stderr: usize,
}

impl Default for Limits {
    /// 30 s, 256 KB of output, 64 KB of errors.
    fn default() -> Self {
        Self { time: Duration::from_secs(30), stdout: 256 * 1024, stderr: 64 * 1024 }
    }
}

/// A program to run. It sees the variables given here and `PATH`, nothing else of our environment.
#[derive(Debug, Clone)]
pub struct Program {
    program: OsString,
    args: Vec<OsString>,
    folder: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limits: Limits,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which somebody else sent.
    Signalled(i32),
    /// It was stopped because its time was over.
    TimedOut,
    /// It was stopped because the caller wanted it.
    Stopped,
}

/// What became of a program.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// Wall time from start to end, our own cleaning up included.
    pub duration: Duration,
    /// How it was kept apart.
    pub level: Level,
}

impl Program {
    /// A program that runs in this folder. A name without a slash is looked for in `PATH`; a relative one starts at the folder.
    pub fn new(program: impl Into<OsString>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            folder: folder.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// The same with more arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with one more variable; the last one of a name counts.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with these bytes on standard input, which ends after them.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The same within these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs it. When `stop` is done the group gets `SIGTERM`, and `SIGKILL` after [`GRACE`]; the same happens when the time is over.
    /// Dropping the future does it too, in the background.
    ///
    /// Needs a tokio runtime with time and I/O. On Linux the program is killed too when this process is, however that happens; what it
    /// started itself is not.
    ///
    /// # Errors
    /// [`StartError`] when it could not be started. However it ends after that is a [`Report`].
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<Report, StartError> {
        let begun = Instant::now();
        let Started { mut group, stdin, stdout, stderr } = self.start().await?;
        let (mut out, mut err) =
            (Capture::new(self.limits.stdout), Capture::new(self.limits.stderr));
        let streams = Streams::new(async {
            tokio::join!(
                feed(stdin, &self.stdin),
                drain(stdout, &mut out),
                drain(stderr, &mut err)
            );
        });
        let stopped = conduct(&mut group, streams, stop, self.limits.time).await;
        let status = group.reap(REAP).await;
        Ok(Report {
            end: stopped.unwrap_or_else(|| end_of(status)),
            stdout: out.finish(),
            stderr: err.finish(),
            duration: begun.elapsed(),
            level: Level::None,
        })
    }

    async fn start(&self) -> Result<Started, StartError> {
        let path = self.path();
        let program = look_up(&self.program, &self.folder, &path)?;
        let mut tries = 1;
        loop {
            match start(self.command(&program, &path)).await {
                Err(error)
                    if error.kind() == std::io::ErrorKind::ExecutableFileBusy
                        && tries < BUSY_TRIES =>
                {
                    tries += 1;
                    tokio::time::sleep(BUSY_WAIT).await;
                }
                result => return result.map_err(|error| StartError::of(error, &program)),
            }
        }
    }

    fn command(&self, program: &Path, path: &OsStr) -> Command {
        let mut command = Command::new(program);
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", path)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    fn path(&self) -> OsString {
        let given = self.env.iter().rev().find(|(name, _)| name == "PATH");
        given.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value.clone())
    }
}

/// A program at work. Dropped, it ends.
struct Started {
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Started {
    fn by(mut command: Command) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Self { group: Group::of(child), stdin, stdout, stderr })
    }
}

#[cfg(target_os = "linux")]
use starter::start;

/// Nothing here kills a program with its parent.
#[cfg(not(target_os = "linux"))]
async fn start(command: Command) -> std::io::Result<Started> {
    Started::by(command)
}

/// Waits for the leader, for the end of its time or for the caller, and leaves nothing of the group alive. `None` = it ended by itself.
async fn conduct(
    group: &mut Group,
    mut streams: Streams<'_>,
    stop: impl Future<Output = ()>,
    time: Duration,
) -> Option<End> {
    let stopped = tokio::select! {
        // In this order: a program that ended in time has ended by itself.
        biased;
        () = group.ended() => None,
        () = stop => Some(End::Stopped),
        () = tokio::time::sleep(time) => Some(End::TimedOut),
        () = streams.forever() => None,
    };
    if stopped.is_some() {
        group.terminate();
        tokio::select! {
            biased;
            () = group.ended() => {}
            () = tokio::time::sleep(GRACE) => {}
            () = streams.forever() => {}
        }
    }
    streams.within(SETTLE).await;
    group.kill();
    // Whoever still holds a stream has left the group.
    streams.within(SETTLE).await;
    stopped
}

/// The three streams, moved on whenever somebody waits for something.
struct Streams<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> Streams<'a> {
    fn new(moving: impl Future<Output = ()> + Send + 'a) -> Self {
        Self(Some(Box::pin(moving)))
    }

    /// Moves them to their ends.
    async fn finish(&mut self) {
        if let Some(moving) = &mut self.0 {
            moving.as_mut().await;
            self.0 = None;
        }
    }

    /// Moves them while something else is waited for.
    async fn forever(&mut self) {
        self.finish().await;
        std::future::pending::<()>().await;
    }

    /// Moves them to their ends, for so long.
    async fn within(&mut self, time: Duration) {
        // What is not read by then stays unread.
        let _ = tokio::time::timeout(time, self.finish()).await;
    }
}

/// Writes what the program is given. It may end, or close its input, without reading it all.
async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) {
    let Some(mut stdin) = stdin else { return };
    let _ = stdin.write_all(bytes).await;
}

/// Reads to the end, however much it is.
async fn drain(stream: Option<impl AsyncRead + Unpin>, capture: &mut Capture) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => capture.push(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Reads a stream to its end, and keeps this many bytes of it.
pub(crate) async fn keep(stream: impl AsyncRead + Unpin, limit: usize) -> Captured {
    let mut capture = Capture::new(limit);
    drain(Some(stream), &mut capture).await;
    capture.finish()
}

/// How a leader ended that was not stopped. One that cannot be waited for was killed, or somebody else took its status.
fn end_of(status: Option<ExitStatus>) -> End {
    const SIGKILL: i32 = 9;
    let signal = || status.and_then(|status| status.signal()).unwrap_or(SIGKILL);
    status.and_then(|status| status.code()).map_or_else(|| End::Signalled(signal()), End::Exited)
}

#[cfg(test)]
mod tests;
