//! Runs one program to its end, with limits but without isolation.
//!
//! On Linux the program gets a supervisor (`supervised.rs`) if this executable can act as one, and
//! every process that the program starts ends with it. On other systems the program leads its own
//! session and process group, and processes that leave the group outlive it.

mod default_path;
mod error;
mod find_program;
mod output_capture;
mod process_group;
mod report;
mod session;
#[cfg(target_os = "linux")]
mod spawn_thread;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(target_os = "linux")]
pub(crate) mod tool_mark;

pub use default_path::DEFAULT_PATH;
pub use error::StartError;
pub use find_program::find_program;
pub(crate) use output_capture::capture_stream;
pub use output_capture::{Capture, Captured, count_chars};
pub use process_group::GRACE;
pub use report::{End, Limits, Report};
#[cfg(target_os = "linux")]
pub(crate) use supervised::executable_is_helper;
#[cfg(target_os = "linux")]
pub use tool_mark::is_tool_process;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::Level;
use output_capture::drain;
use process_group::{ProcessGroup, REAP};

/// How long the streams are read after the leader ended. Its own output is available at once;
/// output of processes it left behind does not belong to the result.
const SETTLE: Duration = Duration::from_millis(200);

/// Retries of a start that fails because the file is open for writing (`ETXTBSY`, for example while
/// an editor saves it), and the wait between them.
const BUSY_TRIES: u32 = 10;
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// A program to run. Its environment has `PATH` and the variables given here, nothing else.
#[derive(Debug, Clone)]
pub struct Program {
    program: OsString,
    args: Vec<OsString>,
    folder: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limits: Limits,
}

impl Program {
    /// Creates a program that runs in this folder. A name without a slash is looked up in `PATH`; a
    /// relative path starts at the folder.
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

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable; the last one of a name applies.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the content of standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs the program in its own session. When `stop` completes or the timeout expires, the
    /// program gets `SIGTERM` together with its descendants, and `SIGKILL` after [`GRACE`].
    /// Dropping the future kills them at once.
    ///
    /// Needs a tokio runtime with time and I/O. On Linux everything is also killed when this
    /// process ends in any way. Without a supervisor, only the program itself is killed then, and
    /// descendants that left its process group outlive it.
    ///
    /// # Errors
    /// [`StartError`] if it could not be started, or its end could not be determined. Every other
    /// end is a [`Report`].
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<Report, StartError> {
        #[cfg(target_os = "linux")]
        if let Some(local) = supervised::backend() {
            return supervised::run(local, self, stop).await;
        }
        self.run_in_group(stop).await
    }

    /// Runs the program as the leader of a process group.
    async fn run_in_group(self, stop: impl Future<Output = ()>) -> Result<Report, StartError> {
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
        let stopped = drive(&mut group, streams, stop, self.limits.time).await;
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
        let program = find_program(&self.program, &self.folder, &path)?;
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
                result => return result.map_err(|error| StartError::from_io(error, &program)),
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
            .stderr(Stdio::piped());
        session::start_in_new(&mut command);
        command
    }

    fn path(&self) -> OsString {
        let given = self.env.iter().rev().find(|(name, _)| name == "PATH");
        given.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value.clone())
    }
}

/// A running program. Dropping it ends the program.
struct Started {
    group: ProcessGroup,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Started {
    fn by(mut command: Command) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Self { group: ProcessGroup::from_child(child), stdin, stdout, stderr })
    }
}

#[cfg(target_os = "linux")]
use spawn_thread::start;

/// Starts the program without a parent-death signal, which only Linux has.
#[cfg(not(target_os = "linux"))]
async fn start(command: Command) -> std::io::Result<Started> {
    Started::by(command)
}

/// Waits for the leader, the timeout or the caller, and kills the rest of the group. `None` if the
/// leader ended by itself.
async fn drive(
    group: &mut ProcessGroup,
    mut streams: Streams<'_>,
    stop: impl Future<Output = ()>,
    time: Duration,
) -> Option<End> {
    let stopped = tokio::select! {
        // The order matters: a program that ended in time counts as ended by itself.
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
    // A process that still holds a stream has left the group.
    streams.within(SETTLE).await;
    stopped
}

/// The three streams, which make progress during every wait.
struct Streams<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> Streams<'a> {
    fn new(moving: impl Future<Output = ()> + Send + 'a) -> Self {
        Self(Some(Box::pin(moving)))
    }

    /// Drives the streams to their ends.
    async fn finish(&mut self) {
        if let Some(moving) = &mut self.0 {
            moving.as_mut().await;
            self.0 = None;
        }
    }

    /// Drives the streams while something else is awaited.
    async fn forever(&mut self) {
        self.finish().await;
        std::future::pending::<()>().await;
    }

    /// Drives the streams to their ends, for a limited time.
    async fn within(&mut self, time: Duration) {
        // Later output is ignored.
        let _ = tokio::time::timeout(time, self.finish()).await;
    }
}

/// Writes standard input. The program may end, or close its input, without reading all of it.
async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) {
    let Some(mut stdin) = stdin else { return };
    let _ = stdin.write_all(bytes).await;
}

/// Returns the end of a leader that was not stopped. If its status is not available, it was killed,
/// or another part of the process reaped it.
fn end_of(status: Option<ExitStatus>) -> End {
    const SIGKILL: i32 = 9;
    let signal = || status.and_then(|status| status.signal()).unwrap_or(SIGKILL);
    status.and_then(|status| status.code()).map_or_else(|| End::Signalled(signal()), End::Exited)
}

#[cfg(test)]
mod tests;
