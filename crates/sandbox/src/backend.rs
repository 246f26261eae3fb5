//! Sandbox backends: the interface that runs a job on this host, through another program, or on
//! another machine. No file descriptor and no shared path crosses it.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use toolcrib_net::BoxFuture;

use crate::file_transfer;
use crate::job::{Job, JobResult, LimitHit, Status};
use crate::policy::Policy;
use crate::probe_report::{Feature, Probe};
use crate::process::{self, End, Report};
use crate::{Level, RefusedHost, SandboxError};

/// A stream to write to.
pub type Input = Box<dyn AsyncWrite + Send + Unpin>;
/// A stream to read from.
pub type Output = Box<dyn AsyncRead + Send + Unpin>;

/// A bidirectional byte stream.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A sandbox implementation.
pub trait Backend: Send + Sync {
    /// Returns the name, as shown in reports.
    fn name(&self) -> &'static str;

    /// Returns whether it can restrict programs to named hosts, through a proxy, at this level.
    fn enforces_hosts(&self, level: Level) -> bool {
        level >= Level::Namespace
    }

    /// Tests the restrictions that the backend can enforce, case by case.
    fn probe(&self) -> BoxFuture<'_, Probe>;

    /// Starts a job at the strongest level of the backend, which is at least the policy's minimum.
    ///
    /// # Errors
    /// [`SandboxError`]; the job has not run at all.
    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>>;

    /// Writes a file from outside the sandbox, replacing an existing one. The policy must allow
    /// programs to write it. Unless a backend stores files elsewhere, they are files of this
    /// machine.
    ///
    /// # Errors
    /// [`SandboxError::Path`] if the policy forbids writing, the path contains a symlink, or the
    /// system refuses.
    fn put<'a>(
        &'a self,
        policy: &'a Policy,
        path: &'a Path,
        bytes: &'a [u8],
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { file_transfer::put(policy, path, bytes) })
    }

    /// Reads a file from outside the sandbox, up to a number of bytes. The policy must allow
    /// programs to read it.
    ///
    /// # Errors
    /// [`SandboxError::Path`] if the policy forbids reading, the path contains a symlink, the file
    /// is longer, or the system refuses.
    fn get<'a>(
        &'a self,
        policy: &'a Policy,
        path: &'a Path,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, SandboxError>> {
        Box::pin(async move { file_transfer::get(policy, path, most) })
    }
}

/// A running program in a sandbox. Dropping it ends the program with all its descendants.
pub struct Process {
    /// Standard input, if the job requested it.
    pub stdin: Option<Input>,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// The other end of the program's descriptor 3, if the job requested it.
    pub bridge: Option<Box<dyn Duplex>>,
    /// Isolation level.
    pub level: Level,
    pub(crate) handle: Box<dyn Handle>,
}

/// Backend-specific control of a running program.
pub(crate) trait Handle: Send {
    /// Waits until the program and all its descendants have ended.
    fn wait(&mut self) -> BoxFuture<'_, Result<JobResult, SandboxError>>;
    /// Kills all its descendants.
    fn kill_children(&mut self) -> BoxFuture<'_, Result<KillChildrenResult, SandboxError>>;
    /// Returns the hosts that were denied so far.
    fn refused(&self) -> Vec<RefusedHost>;
    /// Returns whether the sandbox contains only the program itself; `false` if it does not or if
    /// that is unknown.
    fn is_alone(&self) -> bool {
        false
    }
    /// Returns a handle that kills it from elsewhere; `None` if the backend does not support that.
    fn killer(&self) -> Option<Killer> {
        None
    }
    /// Sends an order; the program may already have ended.
    fn send_order(&self, order: ControlOrder);
}

/// Orders to a running sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlOrder {
    End,
    Kill,
    Signal(i32),
    Wake,
}

/// The result of killing a program's descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillChildrenResult {
    /// This number was killed, and none is left.
    Killed(u32),
    /// New processes appear faster than they can be killed: only ending the program ends them.
    Breeds,
    /// The program has ended, and all its descendants with it.
    Gone,
}

/// Kills a running program with all its descendants, from any part of this process.
pub struct Killer(pub(crate) Box<dyn Kill>);

/// See [`Killer`].
pub(crate) trait Kill: Send + Sync {
    fn has_ended(&self) -> bool;
    fn kill(&self);
}

impl Killer {
    /// Returns whether nothing is left to kill.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Kills everything at once; [`wait_for_dropped`](crate::wait_for_dropped) also waits for its
    /// end.
    pub fn kill(&self) {
        self.0.kill();
    }
}

impl fmt::Debug for Killer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Killer").finish_non_exhaustive()
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Process {
    /// Waits until the program and all its descendants have ended. The caller must read the streams
    /// at the same time.
    ///
    /// # Errors
    /// [`SandboxError::Helper`] if the exit status cannot be determined.
    pub async fn wait(&mut self) -> Result<JobResult, SandboxError> {
        self.handle.wait().await
    }

    /// Kills everything in the sandbox except the program itself, which then counts as idle: its
    /// limits are checked rarely until [`wake`](Self::wake).
    ///
    /// # Errors
    /// [`SandboxError::Helper`] if the result cannot be determined.
    pub async fn kill_children(&mut self) -> Result<KillChildrenResult, SandboxError> {
        self.handle.kill_children().await
    }

    /// Returns whether the sandbox contains only the program itself, as far as this can be seen
    /// from outside without a message. [`kill_children`](Self::kill_children) is then unnecessary.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.handle.is_alone()
    }

    /// Returns the hosts that were denied so far, with their rules and without duplicates.
    #[must_use]
    pub fn refused(&self) -> Vec<RefusedHost> {
        self.handle.refused()
    }

    /// Ends the idle state that [`kill_children`](Self::kill_children) set.
    pub fn wake(&self) {
        self.handle.send_order(ControlOrder::Wake);
    }

    /// Sends `SIGTERM` to everything in the sandbox, and `SIGKILL` half a second later.
    pub fn end(&self) {
        self.handle.send_order(ControlOrder::End);
    }

    /// Kills everything in the sandbox at once.
    pub fn kill(&self) {
        self.handle.send_order(ControlOrder::Kill);
    }

    /// Returns a handle that kills everything in the sandbox while another part of this process
    /// waits for it; `None` if the backend does not support that.
    #[must_use]
    pub fn killer(&self) -> Option<Killer> {
        self.handle.killer()
    }

    /// Sends this signal to every process in the sandbox.
    pub fn signal(&self, number: i32) {
        self.handle.send_order(ControlOrder::Signal(number));
    }
}

/// Runs a job to its end: writes `stdin` if the job's input is piped, and captures its output up to
/// the limits. When `stop` completes, everything in the sandbox gets `SIGTERM`, and `SIGKILL` half
/// a second later. The timeout of `limits` applies in addition to the policy's.
///
/// # Errors
/// [`SandboxError`] if the job was not started, or its exit status cannot be determined.
pub async fn run(
    backend: &dyn Backend,
    job: &Job,
    stdin: &[u8],
    limits: process::Limits,
    stop: impl Future<Output = ()>,
) -> Result<(Report, JobResult), SandboxError> {
    let begun = Instant::now();
    let process = backend.start(job).await?;
    drive_to_end(process, begun, stdin, limits, stop).await
}

/// Does the same for a program that was started at this time.
pub(crate) async fn drive_to_end(
    process: Process,
    begun: Instant,
    stdin: &[u8],
    limits: process::Limits,
    stop: impl Future<Output = ()>,
) -> Result<(Report, JobResult), SandboxError> {
    let Process { stdin: input, stdout, stderr, bridge, level, mut handle } = process;
    drop(bridge);
    let feeding = async {
        let Some(mut input) = input else { return };
        // The program may end without reading all its input.
        let _ = input.write_all(stdin).await;
        let _ = input.shutdown().await;
    };
    let reading = async {
        tokio::join!(
            process::capture_stream(stdout, limits.stdout),
            process::capture_stream(stderr, limits.stderr)
        )
    };
    let ending = async {
        tokio::pin!(stop);
        let late = tokio::select! {
            biased;
            ended = handle.wait() => return (false, ended),
            () = &mut stop => false,
            () = tokio::time::sleep(limits.time) => true,
        };
        handle.send_order(ControlOrder::End);
        (late, handle.wait().await)
    };
    // The streams end too, because no process is left after the program's end.
    let ((), (stdout, stderr), (late, ended)) = tokio::join!(feeding, reading, ending);
    let mut ended = ended?;
    if late && ended.stopped == Some(LimitHit::Killed) {
        ended.stopped = Some(LimitHit::Time);
    }
    let report = Report { end: end_of(&ended), stdout, stderr, duration: begun.elapsed(), level };
    Ok((report, ended))
}

fn end_of(ended: &JobResult) -> End {
    match (ended.stopped, ended.status) {
        (Some(LimitHit::Time), _) => End::TimedOut,
        (Some(LimitHit::Killed), _) => End::Stopped,
        (_, Status::Exited(code)) => End::Exited(code),
        (_, Status::Signalled(signal)) => End::Signalled(signal),
    }
}

/// Probes an external program as a backend: it works if this job succeeds in it.
pub(crate) async fn probe_run(
    backend: &dyn Backend,
    name: &'static str,
    program: &Path,
    strongest: Level,
    job: &Job,
) -> Probe {
    let forever = std::future::pending();
    let detail = match run(backend, job, b"", process::Limits::default(), forever).await {
        Ok((report, _)) if report.end == End::Exited(0) => {
            let feature = Feature { name, works: true, detail: program.display().to_string() };
            let (features, cases, limits) = (vec![feature], Vec::new(), Vec::new());
            return Probe { backend: backend.name(), strongest, features, cases, limits };
        }
        Ok((report, _)) => report.stderr.last(300),
        Err(error) => error.to_string(),
    };
    Probe::unavailable(backend.name(), name, detail)
}
