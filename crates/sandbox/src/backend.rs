//! What runs a job in a sandbox, whatever it is: this host, another program, another machine. No descriptor and no shared path crosses
//! this boundary.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use toolcrib_net::BoxFuture;

use crate::files;
use crate::job::{Ended, Job, Status, Stop};
use crate::policy::Policy;
use crate::process::{self, End, Report};
use crate::report::{Feature, Probe};
use crate::{Level, Refused, SandboxError};

/// A stream that is written to.
pub type Input = Box<dyn AsyncWrite + Send + Unpin>;
/// A stream that is read from.
pub type Output = Box<dyn AsyncRead + Send + Unpin>;

/// Bytes both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Something that runs jobs.
pub trait Backend: Send + Sync {
    /// Its name, as reports show it.
    fn name(&self) -> &'static str;

    /// Whether it can keep programs to hosts that are named, by a proxy, at this level.
    fn keeps_hosts(&self, level: Level) -> bool {
        level >= Level::Namespace
    }

    /// Tries what it can give, and says so case by case.
    fn probe(&self) -> BoxFuture<'_, Probe>;

    /// Starts a job, at the strongest level that it has; the policy's minimum at least.
    ///
    /// # Errors
    /// [`SandboxError`]: then nothing of it has run.
    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>>;

    /// Writes a file that programs under this policy may write, from outside; what was there is replaced. Unless a backend keeps
    /// them elsewhere, the files are those of this machine.
    ///
    /// # Errors
    /// [`SandboxError::Path`] when the policy does not let it be written, a link leads there, or the system refuses.
    fn put<'a>(
        &'a self,
        policy: &'a Policy,
        path: &'a Path,
        bytes: &'a [u8],
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { files::put(policy, path, bytes) })
    }

    /// Reads a file that programs under this policy may read, from outside, up to so many bytes.
    ///
    /// # Errors
    /// [`SandboxError::Path`] when the policy does not let it be read, a link leads there, it is longer, or the system refuses.
    fn get<'a>(
        &'a self,
        policy: &'a Policy,
        path: &'a Path,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, SandboxError>> {
        Box::pin(async move { files::get(policy, path, most) })
    }
}

/// A program at work in a sandbox. Dropped, it ends with all that it started.
pub struct Process {
    /// What it reads, if the job said so.
    pub stdin: Option<Input>,
    /// What it writes.
    pub stdout: Output,
    /// What it writes of errors.
    pub stderr: Output,
    /// The other end of its descriptor 3, if the job said so.
    pub bridge: Option<Box<dyn Duplex>>,
    /// How it is kept apart.
    pub level: Level,
    pub(crate) handle: Box<dyn Handle>,
}

/// The hold on a program.
pub(crate) trait Handle: Send {
    /// Waits until it and all that it started are gone.
    fn wait(&mut self) -> BoxFuture<'_, Result<Ended, SandboxError>>;
    /// Kills all that it started.
    fn sweep(&mut self) -> BoxFuture<'_, Result<Swept, SandboxError>>;
    /// Hosts that it asked for so far and did not reach.
    fn refused(&self) -> Vec<Refused>;
    /// Whether nothing is in it but the program itself; `false` = something is, or nobody knows.
    fn is_alone(&self) -> bool {
        false
    }
    /// Tells it something; it may be gone.
    fn tell(&self, order: Tell);
}

/// What a program can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tell {
    End,
    Kill,
    Signal(i32),
    Wake,
}

/// What became of the processes that a program started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// So many were killed, and none is left.
    Killed(u32),
    /// They breed faster than they are killed: only the end of the program ends them.
    Breeds,
    /// The program has ended, and everything with it.
    Gone,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Process {
    /// Waits until the program and all that it started are gone. The streams have to be read meanwhile.
    ///
    /// # Errors
    /// [`SandboxError::Helper`] when nobody can say how it ended.
    pub async fn wait(&mut self) -> Result<Ended, SandboxError> {
        self.handle.wait().await
    }

    /// Kills everything in it but the program itself, which then counts as resting: its limits are looked at seldom, until it is
    /// [woken](Self::wake).
    ///
    /// # Errors
    /// [`SandboxError::Helper`] when nobody can say whether that was done.
    pub async fn sweep(&mut self) -> Result<Swept, SandboxError> {
        self.handle.sweep().await
    }

    /// Whether nothing is in it but the program itself, as far as that is seen from outside without asking anybody: then there is nothing to
    /// [sweep](Self::sweep).
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.handle.is_alone()
    }

    /// Hosts that it asked for so far and did not reach, by rule, without repetition.
    #[must_use]
    pub fn refused(&self) -> Vec<Refused> {
        self.handle.refused()
    }

    /// The program has something to do again, after [`sweep`](Self::sweep).
    pub fn wake(&self) {
        self.handle.tell(Tell::Wake);
    }

    /// Asks everything in it to end (`SIGTERM`), and kills it half a second later.
    pub fn end(&self) {
        self.handle.tell(Tell::End);
    }

    /// Kills everything in it at once.
    pub fn kill(&self) {
        self.handle.tell(Tell::Kill);
    }

    /// Sends this signal, by number, to every process in it.
    pub fn signal(&self, number: i32) {
        self.handle.tell(Tell::Signal(number));
    }
}

/// Runs a job to its end: gives it these bytes to read if its input is piped, keeps what it writes up to the limits. When `stop` is
/// done, everything in it is asked to end and killed half a second later. The time of `limits` counts beside that of the policy.
///
/// # Errors
/// [`SandboxError`] when it was not started, or nobody can say how it ended.
pub async fn run(
    backend: &dyn Backend,
    job: &Job,
    stdin: &[u8],
    limits: process::Limits,
    stop: impl Future<Output = ()>,
) -> Result<(Report, Ended), SandboxError> {
    let begun = Instant::now();
    let Process { stdin: input, stdout, stderr, bridge, level, mut handle } =
        backend.start(job).await?;
    drop(bridge);
    let feeding = async {
        let Some(mut input) = input else { return };
        // It may end without reading it all.
        let _ = input.write_all(stdin).await;
        let _ = input.shutdown().await;
    };
    let reading = async {
        tokio::join!(process::keep(stdout, limits.stdout), process::keep(stderr, limits.stderr))
    };
    let ending = async {
        tokio::pin!(stop);
        let late = tokio::select! {
            biased;
            ended = handle.wait() => return (false, ended),
            () = &mut stop => false,
            () = tokio::time::sleep(limits.time) => true,
        };
        handle.tell(Tell::End);
        (late, handle.wait().await)
    };
    // Nothing of it is left when it has ended, so the streams have ends too.
    let ((), (stdout, stderr), (late, ended)) = tokio::join!(feeding, reading, ending);
    let mut ended = ended?;
    if late && ended.stopped == Some(Stop::Killed) {
        ended.stopped = Some(Stop::Time);
    }
    let report = Report { end: end_of(&ended), stdout, stderr, duration: begun.elapsed(), level };
    Ok((report, ended))
}

fn end_of(ended: &Ended) -> End {
    match (ended.stopped, ended.status) {
        (Some(Stop::Time), _) => End::TimedOut,
        (Some(Stop::Killed), _) => End::Stopped,
        (_, Status::Exited(code)) => End::Exited(code),
        (_, Status::Signalled(signal)) => End::Signalled(signal),
    }
}

/// What a program of others gives as a backend: it is there if this job ends well in it.
pub(crate) async fn tried(
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
    Probe::nothing(backend.name(), name, detail)
}
