//! The sandbox of this host, through a helper process that is started once and makes every sandbox.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::RecvFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::OnceCell;
use toolcrib_net::BoxFuture;

use super::control::{self, Blame, Event, Fault, Order};
use super::plan::{Act, Plan};
use super::start::{Begun, at_level, error_of, levels, silent};
use super::worker::{ROLE, Wanted};
use super::{probe, sys, tree};
use crate::backend::{Backend, Handle, Process, Swept, Tell};
use crate::egress::{Egress, Proxy, Refused};
use crate::job::{Ended, Job, Status, Stdin, Stop};
use crate::policy::{Network, Policy};
use crate::report::Probe;
use crate::{Level, SandboxError};

/// How long the first process of a sandbox is waited for after it gave its last word: the kernel takes its namespaces apart.
const LAST: Duration = Duration::from_secs(5);

/// The name that reports show.
pub(super) const NAME: &str = "local";

/// The sandbox of this host.
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
    /// With this executable as its own helper: its `main` calls [`worker_entry`](crate::worker_entry) first.
    #[must_use]
    pub fn new() -> Self {
        Self::with_helper("/proc/self/exe")
    }

    /// With another executable as helper.
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self {
            helper: Helper { program: program.into(), socket: Mutex::default() },
            strongest: Level::Namespace,
            egress: Egress::default(),
            works: OnceCell::new(),
        }
    }

    /// The same at this level at most, as if the host gave no more.
    #[must_use]
    pub fn at_most(mut self, level: Level) -> Self {
        self.strongest = level;
        self
    }

    /// The same with a proxy that looks hosts up and judges addresses like this.
    #[must_use]
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = egress;
        self
    }

    /// Starts a plan that brings its own walls, under the same care.
    pub(super) async fn bare(
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

    /// Starts a plan at the strongest of these levels that the host gives. What worked once is where the next start begins.
    async fn begin(
        &self,
        plan: &Plan,
        policy: &Policy,
        stdin: Stdin,
        bridge: bool,
    ) -> Result<(Running, Level), SandboxError> {
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
                    // What another system needs says nothing of other programs.
                    if strongest > level && !plan.has_other_root() {
                        let _ = self.works.set(level);
                    }
                    return Ok((running, level));
                }
                Err(fault) if fault.of == Blame::Host && levels.peek().is_some() => {}
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
    ) -> Result<Result<Running, Fault>, SandboxError> {
        let (mut running, theirs) = Running::new(stdin, bridge).map_err(SandboxError::Helper)?;
        let file = file_of(plan).map_err(SandboxError::Helper)?;
        let mut fds = vec![file.as_fd()];
        fds.extend(theirs.iter().map(AsFd::as_fd));
        self.helper.send(&Wanted { level }, &fds).map_err(SandboxError::Helper)?;
        // What the sandbox holds is its own now: its end must be seen here.
        drop(theirs);
        let started = loop {
            match receive(&running.control).await {
                Ok(Some((event, fds))) => {
                    if let Some(result) = running.begun.hear(event, fds) {
                        break result;
                    }
                }
                Ok(None) | Err(_) => break Err(silent()),
            }
        };
        Ok(started.map(|()| running))
    }

    /// Tries something in a sandbox of this level; what it wrote is the result.
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
        Box::pin(probe::probe(self))
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(async move {
            let plan = Plan::of(job)?;
            let bridge = matches!(plan.act, Act::Run { bridge: true, .. });
            let (running, level) = self.begin(&plan, &job.policy, job.stdin, bridge).await?;
            running.into_process(level, &job.policy.network, &self.egress)
        })
    }
}

/// The helper process, started when it is needed first, and again if it is gone.
#[derive(Debug)]
struct Helper {
    program: PathBuf,
    socket: Mutex<Option<OwnedFd>>,
}

impl Helper {
    fn send(&self, wanted: &Wanted, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(socket) = socket.as_ref()
            && control::send(socket, wanted, fds).is_ok()
        {
            return Ok(());
        }
        let fresh = socket.insert(self.start()?);
        control::send(fresh, wanted, fds)
    }

    fn start(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = control::pair()?;
        let mut command = Command::new(&self.program);
        command
            .arg(ROLE)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        // It ends when our end of the socket closes; then this takes its status, so that it is no zombie.
        std::thread::Builder::new()
            .name("toolcrib-helper".into())
            .stack_size(64 * 1024)
            .spawn(move || child.wait())?;
        Ok(ours)
    }
}

/// A sandbox that was made.
struct Running {
    control: AsyncFd<OwnedFd>,
    begun: Begun,
    stdin: Option<Sender>,
    stdout: Receiver,
    stderr: Receiver,
    bridge: Option<UnixStream>,
}

impl Running {
    /// Our ends, and theirs: control, standard input, output, errors, and the bridge if there is one.
    fn new(stdin: Stdin, bridge: bool) -> io::Result<(Self, Vec<OwnedFd>)> {
        let (control, their_control) = control::pair()?;
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
        let begun = Begun::default();
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
        let handle = Hold {
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

/// The hold on a sandbox: its end of the control socket is the sandbox's life.
struct Hold {
    control: AsyncFd<OwnedFd>,
    ended: Option<AsyncFd<OwnedFd>>,
    level: Level,
    proxy: Option<Proxy>,
    /// Its first process and the program, by their numbers here; `None` = they are not known.
    members: std::sync::OnceLock<Option<(i32, i32)>>,
    /// What was said of its end while something else was waited for.
    over: Option<(Status, Option<Stop>, Duration)>,
    told: Option<Ended>,
}

impl Hold {
    /// Its first process, and the only child that it has now.
    fn find_members(&self) -> Option<(i32, i32)> {
        use std::os::fd::AsRawFd as _;
        let fd = self.ended.as_ref()?.get_ref().as_raw_fd();
        let known = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
        let first = known.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim();
        let first = first.parse().ok().filter(|first| *first > 0)?;
        match tree::children(first)?.as_slice() {
            [main] => Some((first, *main)),
            _ => None,
        }
    }

    async fn end(&mut self) -> Result<Ended, SandboxError> {
        if let Some(ended) = &self.told {
            return Ok(ended.clone());
        }
        // Whoever waits may give up and wait again, so what was said is kept.
        let (status, stopped, cpu) = loop {
            if let Some(over) = self.over {
                break over;
            }
            match receive(&self.control).await {
                Ok(Some((Event::Ended { status, stopped, cpu_micros }, _))) => {
                    self.over = Some((status, stopped, Duration::from_micros(cpu_micros)));
                }
                Ok(Some(_)) => {}
                // Its first process was killed from outside, and everything with it.
                Ok(None) => {
                    let killed = Status::Signalled(libc::SIGKILL);
                    self.over = Some((killed, Some(Stop::Killed), Duration::ZERO));
                }
                Err(error) => return Err(SandboxError::Helper(error)),
            }
        };
        if let Some(ended) = &self.ended {
            let _ = tokio::time::timeout(LAST, ended.readable()).await;
        }
        let refused = self.proxy.take().map(|proxy| proxy.refused()).unwrap_or_default();
        let ended = Ended { status, stopped, level: self.level, cpu, refused };
        self.told = Some(ended.clone());
        Ok(ended)
    }
}

impl Hold {
    async fn sweep(&mut self) -> Result<Swept, SandboxError> {
        if self.told.is_some() || control::send(self.control.get_ref(), &Order::Sweep, &[]).is_err()
        {
            return Ok(Swept::Gone);
        }
        loop {
            match receive(&self.control).await {
                Ok(Some((Event::Swept { killed: Some(killed) }, _))) => {
                    return Ok(Swept::Killed(killed));
                }
                Ok(Some((Event::Swept { killed: None }, _))) => return Ok(Swept::Breeds),
                Ok(Some((Event::Ended { status, stopped, cpu_micros }, _))) => {
                    self.over = Some((status, stopped, Duration::from_micros(cpu_micros)));
                    return Ok(Swept::Gone);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Swept::Gone),
                Err(error) => return Err(SandboxError::Helper(error)),
            }
        }
    }
}

impl Handle for Hold {
    fn sweep(&mut self) -> BoxFuture<'_, Result<Swept, SandboxError>> {
        Box::pin(Self::sweep(self))
    }

    fn refused(&self) -> Vec<Refused> {
        let now = self.proxy.as_ref().map(Proxy::refused);
        now.or_else(|| self.told.as_ref().map(|ended| ended.refused.clone())).unwrap_or_default()
    }

    fn is_alone(&self) -> bool {
        let Some((first, main)) = *self.members.get_or_init(|| self.find_members()) else {
            return false;
        };
        // In this order: what loses its parent meanwhile falls to the first.
        tree::children(main).is_some_and(|of_main| of_main.is_empty())
            && tree::children(first).is_some_and(|of_first| of_first == [main])
    }

    fn wait(&mut self) -> BoxFuture<'_, Result<Ended, SandboxError>> {
        Box::pin(self.end())
    }

    fn tell(&self, order: Tell) {
        let order = match order {
            Tell::End => Order::End,
            Tell::Kill => Order::Kill,
            Tell::Signal(number) => Order::Signal(number),
            Tell::Wake => Order::Wake,
        };
        // It may be gone.
        let _ = control::send(self.control.get_ref(), &order, &[]);
    }
}

/// The next event of a sandbox; `None` = it is gone.
async fn receive(control: &AsyncFd<OwnedFd>) -> io::Result<Option<(Event, Vec<OwnedFd>)>> {
    loop {
        let mut ready = control.readable().await?;
        let taken = ready.try_io(|fd| match control::receive(fd.get_ref(), RecvFlags::DONTWAIT) {
            // A socket whose other end was closed with messages unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            taken => taken,
        });
        if let Ok(taken) = taken {
            return taken;
        }
    }
}

/// A descriptor whose readability can be waited for.
#[expect(
    deprecated,
    reason = "the way without `unsafe`; an owned descriptor stays open and the same"
)]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// A file in memory with this text.
fn file_of(text: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("toolcrib-plan", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    Ok(file.into())
}

/// Whether this kernel has Landlock, and in which version.
pub(super) fn landlock() -> Option<i64> {
    sys::landlock_interface()
}
