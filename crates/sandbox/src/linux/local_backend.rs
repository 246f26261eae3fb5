//! The built-in Linux sandbox. A helper process, started once, creates every sandbox.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::RecvFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::OnceCell;
use toolcrib_net::BoxFuture;

use super::control_socket::{self, Fault, FaultSource, SupervisorEvent, SupervisorOrder};
use super::helper::{ROLE, SandboxRequest};
use super::plan::{Action, Plan};
use super::start_result::{StartProgress, at_level, error_of, levels, no_answer_fault};
use super::{capability_probe, process_tree, raw_syscalls};
use crate::backend::{Backend, ControlOrder, Handle, Kill, KillChildrenResult, Killer, Process};
use crate::dropped_programs;
use crate::egress::{Egress, Proxy, RefusedHost};
use crate::job::{Job, JobResult, LimitHit, Status, Stdin};
use crate::policy::{Network, Policy};
use crate::probe_report::Probe;
use crate::{Level, SandboxError};

/// How long to wait for the first process of a sandbox after its last message, while the kernel
/// removes its namespaces.
const LAST: Duration = Duration::from_secs(5);

/// Name in reports.
pub(super) const NAME: &str = "local";

/// The built-in sandbox.
#[derive(Debug)]
pub struct Local {
    helper: Helper,
    strongest: Level,
    egress: Egress,
    works: OnceCell<Level>,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// Uses this executable as its own helper: its `main` must first call
    /// [`helper_entry`](crate::helper_entry).
    #[must_use]
    pub fn new() -> Self {
        Self::with_helper("/proc/self/exe")
    }

    /// Uses another executable as helper.
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            helper: Helper { program: program.into(), socket: Mutex::default() },
            strongest: Level::Namespace,
            egress: Egress::default(),
            works: OnceCell::new(),
        }
    }

    /// Limits the level, as if the host provided no stronger one.
    #[must_use]
    pub fn max_level(mut self, level: Level) -> Self {
        self.strongest = level;
        self
    }

    /// Sets the resolver and address policy of the egress proxy.
    #[must_use]
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = egress;
        self
    }

    /// Starts a plan of an external backend under the same supervision.
    pub(super) async fn start_external(
        &self,
        plan: &Plan,
        job: &Job,
        level: Level,
    ) -> Result<Process, SandboxError> {
        let text = serde_json::to_vec(plan).map_err(|error| SandboxError::Helper(error.into()))?;
        let running = self.try_level(&text, Level::None, job.stdin, job.bridge).await?;
        let running = running.map_err(|fault| error_of(fault, Level::None, &job.policy))?;
        running.into_process(level, &Network::Full, &self.egress)
    }

    /// Starts a plan at the strongest of these levels that the host provides. The next start begins
    /// with the level that worked.
    async fn begin(
        &self,
        plan: &Plan,
        policy: &Policy,
        stdin: Stdin,
        bridge: bool,
    ) -> Result<(SandboxStreams, Level), SandboxError> {
        let written = |plan: &Plan| {
            serde_json::to_vec(plan).map_err(|error| SandboxError::Helper(error.into()))
        };
        let strongest = self.works.get().copied().unwrap_or(self.strongest);
        let mut levels = levels(strongest, policy, plan).into_iter().peekable();
        if levels.peek().is_none() {
            let minimum = policy.minimum;
            return Err(SandboxError::BelowMinimum { minimum, strongest, reason: String::new() });
        }
        let mut last = None;
        while let Some(level) = levels.next() {
            let text = written(&*at_level(plan, level)?)?;
            match self.try_level(&text, level, stdin, bridge).await? {
                Ok(running) => {
                    // The needs of another root file system do not apply to other programs.
                    if strongest > level && !plan.has_rootfs() {
                        let _ = self.works.set(level);
                    }
                    return Ok((running, level));
                }
                Err(fault) if fault.of == FaultSource::Host && levels.peek().is_some() => {}
                Err(fault) => last = Some(error_of(fault, level, policy)),
            }
            if last.is_some() {
                break;
            }
        }
        Err(last.unwrap_or(SandboxError::Unsupported))
    }

    async fn try_level(
        &self,
        plan: &[u8],
        level: Level,
        stdin: Stdin,
        bridge: bool,
    ) -> Result<Result<SandboxStreams, Fault>, SandboxError> {
        let (mut running, theirs) =
            SandboxStreams::new(stdin, bridge).map_err(SandboxError::Helper)?;
        let file = file_of(plan).map_err(SandboxError::Helper)?;
        let mut fds = vec![file.as_fd()];
        fds.extend(theirs.iter().map(AsFd::as_fd));
        self.helper.send(&SandboxRequest { level }, &fds).map_err(SandboxError::Helper)?;
        // Close our copies, so that the end of the sandbox is visible here.
        drop(theirs);
        let started = loop {
            match receive(&running.control).await {
                Ok(Some((event, fds))) => {
                    if let Some(result) = running.begun.handle_event(event, fds) {
                        break result;
                    }
                }
                Ok(None) | Err(_) => break Err(no_answer_fault()),
            }
        };
        Ok(started.map(|()| running))
    }

    /// Runs the self test in a sandbox of this level and returns its output.
    pub(super) async fn attempt(&self, plan: &Plan, level: Level) -> Result<Vec<u8>, Fault> {
        use tokio::io::AsyncReadExt as _;
        let helper = |error: io::Error| Fault::host("the helper")(error);
        let text = serde_json::to_vec(plan).map_err(|error| helper(error.into()))?;
        let running = self.try_level(&text, level, Stdin::Empty, false).await;
        let mut running = running.map_err(|error| helper(io::Error::other(error)))??;
        let mut said = Vec::new();
        running.stdout.read_to_end(&mut said).await.map_err(helper)?;
        Ok(said)
    }

    pub(super) fn limit(&self) -> Level {
        self.strongest
    }
}

impl Backend for Local {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(capability_probe::probe(self))
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(async move {
            let plan = Plan::from_job(job)?;
            let bridge = matches!(plan.act, Action::Run { bridge: true, .. });
            let (running, level) = self.begin(&plan, &job.policy, job.stdin, bridge).await?;
            running.into_process(level, &job.policy.network, &self.egress)
        })
    }
}

/// The helper process, started on first use and again if it has ended.
#[derive(Debug)]
struct Helper {
    program: PathBuf,
    socket: Mutex<Option<OwnedFd>>,
}

impl Helper {
    fn send(&self, wanted: &SandboxRequest, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(socket) = socket.as_ref()
            && control_socket::send(socket, wanted, fds).is_ok()
        {
            return Ok(());
        }
        let fresh = socket.insert(self.start()?);
        control_socket::send(fresh, wanted, fds)
    }

    fn start(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = control_socket::pair()?;
        let mut command = Command::new(&self.program);
        command
            .arg(ROLE)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        // The helper ends when our end of the socket closes; this thread then reaps it.
        std::thread::Builder::new()
            .name("toolcrib-helper".into())
            .stack_size(64 * 1024)
            .spawn(move || child.wait())?;
        Ok(ours)
    }
}

/// The streams of a created sandbox.
struct SandboxStreams {
    control: AsyncFd<OwnedFd>,
    begun: StartProgress,
    stdin: Option<Sender>,
    stdout: Receiver,
    stderr: Receiver,
    bridge: Option<UnixStream>,
}

impl SandboxStreams {
    /// Creates our ends and the other ends: control, standard input, output, error, and the bridge
    /// if there is one.
    fn new(stdin: Stdin, bridge: bool) -> io::Result<(Self, Vec<OwnedFd>)> {
        let (control, their_control) = control_socket::pair()?;
        let (input, their_input) = match stdin {
            Stdin::Empty => (None, std::fs::File::open("/dev/null")?.into()),
            Stdin::Piped => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                rustix::io::ioctl_fionbio(&write, true)?;
                (Some(Sender::from_owned_fd(write)?), read)
            }
        };
        let output = || -> io::Result<(Receiver, OwnedFd)> {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&read, true)?;
            Ok((Receiver::from_owned_fd(read)?, write))
        };
        let ((stdout, their_stdout), (stderr, their_stderr)) = (output()?, output()?);
        let mut theirs = vec![their_control, their_input, their_stdout, their_stderr];
        let mut own_bridge = None;
        if bridge {
            let (ours, their_bridge) = std::os::unix::net::UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            own_bridge = Some(UnixStream::from_std(ours)?);
            theirs.push(their_bridge.into());
        }
        let control = watched(control)?;
        let begun = StartProgress::default();
        Ok((Self { control, begun, stdin: input, stdout, stderr, bridge: own_bridge }, theirs))
    }

    fn into_process(
        self,
        level: Level,
        network: &Network,
        egress: &Egress,
    ) -> Result<Process, SandboxError> {
        let proxy = match (network, self.begun.listener) {
            (Network::Hosts(hosts), Some(listener)) => {
                Some(Proxy::open(listener, hosts, egress).map_err(SandboxError::Helper)?)
            }
            _ => None,
        };
        let ended = self.begun.pidfd.and_then(|fd| watched(fd).ok());
        let handle = LocalHandle {
            control: self.control,
            ended,
            level,
            proxy,
            members: std::sync::OnceLock::new(),
            over: None,
            told: None,
        };
        Ok(Process {
            stdin: self.stdin.map(|stdin| Box::new(stdin) as _),
            stdout: Box::new(self.stdout),
            stderr: Box::new(self.stderr),
            bridge: self.bridge.map(|bridge| Box::new(bridge) as _),
            level,
            handle: Box::new(handle),
        })
    }
}

/// Handle of a sandbox: it lives as long as this end of the control socket.
struct LocalHandle {
    control: AsyncFd<OwnedFd>,
    ended: Option<AsyncFd<OwnedFd>>,
    level: Level,
    proxy: Option<Proxy>,
    /// Process ids of its first process and of the program, in our namespace; `None` if they are
    /// not known.
    members: std::sync::OnceLock<Option<(i32, i32)>>,
    /// The end of the sandbox, if it was received while waiting for something else.
    over: Option<(Status, Option<LimitHit>, Duration)>,
    told: Option<JobResult>,
}

impl LocalHandle {
    /// Returns its first process and that process's only child.
    fn find_members(&self) -> Option<(i32, i32)> {
        use std::os::fd::AsRawFd as _;
        let fd = self.ended.as_ref()?.get_ref().as_raw_fd();
        let known = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
        let first = known.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim();
        let first = first.parse().ok().filter(|first| *first > 0)?;
        match process_tree::children(first)?.as_slice() {
            [main] => Some((first, *main)),
            _ => None,
        }
    }

    async fn end(&mut self) -> Result<JobResult, SandboxError> {
        if let Some(ended) = &self.told {
            return Ok(ended.clone());
        }
        // The caller may drop this future and wait again, so the event is stored.
        let (status, stopped, cpu) = loop {
            if let Some(over) = self.over {
                break over;
            }
            match receive(&self.control).await {
                Ok(Some((SupervisorEvent::Ended { status, stopped, cpu_micros }, _))) => {
                    self.over = Some((status, stopped, Duration::from_micros(cpu_micros)));
                }
                Ok(Some(_)) => {}
                // The first process was killed from outside, and everything with it.
                Ok(None) => {
                    let killed = Status::Signalled(libc::SIGKILL);
                    self.over = Some((killed, Some(LimitHit::Killed), Duration::ZERO));
                }
                Err(error) => return Err(SandboxError::Helper(error)),
            }
        };
        if let Some(ended) = &self.ended {
            let _ = tokio::time::timeout(LAST, ended.readable()).await;
        }
        let refused = self.proxy.take().map(|proxy| proxy.refused()).unwrap_or_default();
        let ended = JobResult { status, stopped, level: self.level, cpu, refused };
        self.told = Some(ended.clone());
        Ok(ended)
    }
}

/// Dropped while it runs, it is killed at once.
impl Drop for LocalHandle {
    fn drop(&mut self) {
        if self.over.is_none() && self.told.is_none() {
            self.send_order(ControlOrder::Kill);
            count_until_ended(self.ended.take());
        }
    }
}

/// Counts a killed program until its first process, of which this is the pidfd, has ended.
fn count_until_ended(pidfd: Option<AsyncFd<OwnedFd>>) {
    let Some(pidfd) = pidfd else { return };
    dropped_programs::count_until(async move {
        let _ = tokio::time::timeout(LAST, pidfd.readable()).await;
    });
}

/// Another owner of the descriptors of a [`LocalHandle`].
struct LocalKiller {
    control: OwnedFd,
    pidfd: OwnedFd,
}

impl Kill for LocalKiller {
    fn has_ended(&self) -> bool {
        let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(1))
    }

    fn kill(&self) {
        // It may have ended.
        let _ = control_socket::send(&self.control, &SupervisorOrder::Kill, &[]);
        // Registering a descriptor needs a runtime.
        if tokio::runtime::Handle::try_current().is_ok() {
            count_until_ended(self.pidfd.try_clone().ok().and_then(|fd| watched(fd).ok()));
        }
    }
}

impl LocalHandle {
    async fn sweep(&mut self) -> Result<KillChildrenResult, SandboxError> {
        if self.told.is_some()
            || control_socket::send(self.control.get_ref(), &SupervisorOrder::Sweep, &[]).is_err()
        {
            return Ok(KillChildrenResult::Gone);
        }
        loop {
            match receive(&self.control).await {
                Ok(Some((SupervisorEvent::Swept { killed: Some(killed) }, _))) => {
                    return Ok(KillChildrenResult::Killed(killed));
                }
                Ok(Some((SupervisorEvent::Swept { killed: None }, _))) => {
                    return Ok(KillChildrenResult::Breeds);
                }
                Ok(Some((SupervisorEvent::Ended { status, stopped, cpu_micros }, _))) => {
                    self.over = Some((status, stopped, Duration::from_micros(cpu_micros)));
                    return Ok(KillChildrenResult::Gone);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(KillChildrenResult::Gone),
                Err(error) => return Err(SandboxError::Helper(error)),
            }
        }
    }
}

impl Handle for LocalHandle {
    fn kill_children(&mut self) -> BoxFuture<'_, Result<KillChildrenResult, SandboxError>> {
        Box::pin(Self::sweep(self))
    }

    fn refused(&self) -> Vec<RefusedHost> {
        let now = self.proxy.as_ref().map(Proxy::refused);
        now.or_else(|| self.told.as_ref().map(|ended| ended.refused.clone())).unwrap_or_default()
    }

    fn is_alone(&self) -> bool {
        let Some((first, main)) = *self.members.get_or_init(|| self.find_members()) else {
            return false;
        };
        // The order matters: an orphan is adopted by the first process.
        process_tree::children(main).is_some_and(|of_main| of_main.is_empty())
            && process_tree::children(first).is_some_and(|of_first| of_first == [main])
    }

    fn wait(&mut self) -> BoxFuture<'_, Result<JobResult, SandboxError>> {
        Box::pin(self.end())
    }

    fn killer(&self) -> Option<Killer> {
        let control = self.control.get_ref().try_clone().ok()?;
        let pidfd = self.ended.as_ref()?.get_ref().try_clone().ok()?;
        Some(Killer(Box::new(LocalKiller { control, pidfd })))
    }

    fn send_order(&self, order: ControlOrder) {
        let order = match order {
            ControlOrder::End => SupervisorOrder::End,
            ControlOrder::Kill => SupervisorOrder::Kill,
            ControlOrder::Signal(number) => SupervisorOrder::Signal(number),
            ControlOrder::Wake => SupervisorOrder::Wake,
        };
        // It may have ended.
        let _ = control_socket::send(self.control.get_ref(), &order, &[]);
    }
}

/// Receives the next event of a sandbox; `None` if it has ended.
async fn receive(
    control: &AsyncFd<OwnedFd>,
) -> io::Result<Option<(SupervisorEvent, Vec<OwnedFd>)>> {
    loop {
        let mut ready = control.readable().await?;
        let taken =
            ready.try_io(|fd| match control_socket::receive(fd.get_ref(), RecvFlags::DONTWAIT) {
                // The other end was closed with unread messages.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
                taken => taken,
            });
        if let Ok(taken) = taken {
            return taken;
        }
    }
}

/// A descriptor registered for readability.
#[expect(
    deprecated,
    reason = "the way without `unsafe`; an owned descriptor stays open and the same"
)]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// Creates an in-memory file with this content.
fn file_of(text: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("toolcrib-plan", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    Ok(file.into())
}

/// Returns the kernel's Landlock ABI version, if it has Landlock.
pub(super) fn landlock() -> Option<i64> {
    raw_syscalls::landlock_interface()
}
