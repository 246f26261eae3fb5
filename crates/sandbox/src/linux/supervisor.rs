//! Supervisor: the first process of a sandbox. It creates the sandbox, starts the program, enforces
//! the limits that the kernel does not, and ends when no process is left.
//!
//! With a pid namespace it is the init process, whose end kills all others; without one it is their
//! subreaper.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, kill_process};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::cgroup::{Cgroup, CgroupParent};
use super::control_socket::{self, Fault, SupervisorEvent, SupervisorOrder};
use super::exec::{self, Streams};
use super::limit_watch::{CHECK_INTERVAL, LimitWatch};
use super::mount_namespace::{self, SCRATCH};
use super::plan::{Action, Net, PROXY_PORT, Plan};
use super::process_tree::{self, ProcessTree};
use super::raw_syscalls::{self, Fork};
use super::seccomp_notify::NotifyListener;
use super::self_test;
use crate::Level;
use crate::job::{LimitHit, Status};
use crate::process::GRACE;

/// How long to wait for killed processes. Only a process that is stuck in the kernel needs longer.
const REAP: Duration = Duration::from_secs(5);

/// Number of attempts to kill all processes but the program, before they count as multiplying too
/// fast.
const SWEEPS: usize = 500;

/// Interval of reaping orphans if there is no limit to check.
const IDLE: Duration = Duration::from_millis(200);

/// Host name inside.
const HOST_NAME: &[u8] = b"sandbox";

/// User id inside if the user is root outside.
const PLAIN_USER: u32 = 1000;

/// Returns the flags of the fork that creates a supervisor of this level.
pub(super) fn fork_flags(level: Level) -> i32 {
    match level {
        Level::Namespace => libc::CLONE_NEWUSER | libc::CLONE_NEWPID,
        _ => 0,
    }
}

/// The user outside, determined before entering namespaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    uid: u32,
    gid: u32,
}

impl User {
    pub(super) fn current() -> Self {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { uid: uid.as_raw(), gid: gid.as_raw() }
    }
}

/// Supervises a sandbox to its end, then exits.
pub(super) fn supervise(
    (plan, level, user): (&Plan, Level, User),
    (place, etc_mount): (Option<&'static CgroupParent>, Option<OwnedFd>),
    control: &OwnedFd,
    streams: Streams,
) -> ! {
    // The helper ignores `SIGCHLD`, and tests may block signals.
    raw_syscalls::reset_signals();
    // Without a cgroup everything else still works.
    let group = place.and_then(|place| Cgroup::new(place, &plan.amounts).ok());
    let code = match begin((plan, level, user), (group, etc_mount), control, streams) {
        Ok(supervisor) => {
            supervisor.supervise_until_empty();
            0
        }
        Err(fault) => {
            // Processes that already run may have escaped a limit that could not be set.
            if level != Level::Namespace {
                end_all(ProcessTree::Descendants, None, None, &mut None);
            }
            let _ = control_socket::send(control, &SupervisorEvent::Failed(fault), &[]);
            1
        }
    };
    // The temporary folder of the reduced level has been removed; everything else is in memory.
    raw_syscalls::exit_now(code)
}

/// A sandbox with a running program.
struct Supervisor<'a> {
    control: &'a OwnedFd,
    tree: ProcessTree,
    main: Pid,
    /// Whether the program is an external backend.
    is_external_backend: bool,
    ended: OwnedFd,
    watch: LimitWatch,
    group: Option<Cgroup>,
    notifications: Option<NotifyListener>,
    scratch: Option<Scratch>,
}

fn begin<'a>(
    (plan, level, user): (&Plan, Level, User),
    (group, etc_mount): (Option<Cgroup>, Option<OwnedFd>),
    control: &'a OwnedFd,
    streams: Streams,
) -> Result<Supervisor<'a>, Fault> {
    let (scratch, written) = match level {
        Level::Namespace => (None, enter_namespaces(plan, user, etc_mount, control)?),
        _ => {
            let nobody = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            nobody.map_err(io::Error::from).map_err(Fault::host("becoming a subreaper"))?;
            // The kernel's limits here do not apply to root, and a thousand processes would leave
            // this one no time to kill them.
            raw_syscalls::raise_scheduling();
            let wanted = plan.scratch || level != Level::None;
            let scratch = wanted.then(Scratch::new).transpose();
            let scratch =
                scratch.map_err(Fault::host("creating the folder for temporary files"))?;
            (scratch, own_writes())
        }
    };
    let tree =
        if level == Level::Namespace { ProcessTree::Namespace } else { ProcessTree::Descendants };
    let temporary = scratch.as_ref().map_or(Path::new(SCRATCH), |scratch| &scratch.0);
    // Before the program runs, because disk usage is measured from here.
    let own = (level == Level::Namespace).then_some(Path::new(mount_namespace::ALSO_SCRATCH));
    let mut views = plan.views.clone();
    if let Some(scratch) = &scratch {
        views.push(super::plan::PathView {
            path: scratch.0.clone().into(),
            from: None,
            how: super::plan::Access::Write,
        });
    }
    let watch = LimitWatch::new(tree, plan.amounts, &views, own, written);
    let asked = (level == Level::Reduced).then(control_socket::pair).transpose();
    let asked = asked.map_err(Fault::host("installing the seccomp notification"))?;
    let asks = asked.as_ref().map(|(_, theirs)| theirs);
    let (main, ended, group) = start(plan, level, temporary, streams, (group, asks))?;
    let notifications = asked.and_then(|(ours, _)| NotifyListener::receive(&ours, views));
    if level > Level::None {
        // For inspecting and signaling all processes of the sandbox.
        let kept = CapabilitySet::SYS_PTRACE | CapabilitySet::KILL;
        exec::drop_rights(kept).map_err(Fault::host("dropping capabilities"))?;
    }
    control_socket::send(control, &SupervisorEvent::Started, &[])
        .map_err(Fault::host("reporting the start"))?;
    let is_external_backend = plan.is_external_backend();
    Ok(Supervisor {
        control,
        tree,
        main,
        is_external_backend,
        ended,
        watch,
        group,
        notifications,
        scratch,
    })
}

/// Opens the I/O counters of this process and the processes it reaps; `None` if this kernel has
/// none.
fn own_writes() -> Option<File> {
    File::open("/proc/self/io").ok()
}

/// Creates namespaces and a root file system in them.
fn enter_namespaces(
    plan: &Plan,
    user: User,
    etc_mount: Option<OwnedFd>,
    control: &OwnedFd,
) -> Result<Option<File>, Fault> {
    exec::die_with_parent().map_err(Fault::host("setting the parent-death signal"))?;
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !exec::shares_network(plan) {
        flags |= UnshareFlags::NEWNET;
    }
    raw_syscalls::unshare(flags).map_err(Fault::host("creating namespaces"))?;
    set_user(user, plan.has_rootfs()).map_err(Fault::host("mapping the user"))?;
    if !exec::shares_network(plan) {
        raw_syscalls::raise_loopback().map_err(Fault::host("setting up the network"))?;
    }
    if plan.net == Net::Proxy {
        // The listener belongs to this network namespace and is served from outside: no process
        // inside forwards bytes, and no path leads out.
        let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT));
        let listener = listener.map_err(Fault::host("opening the listener of the proxy"))?;
        control_socket::send(control, &SupervisorEvent::Listening, &[listener.as_fd()])
            .map_err(Fault::host("passing the listener of the proxy"))?;
    }
    let _ = rustix::system::sethostname(HOST_NAME);
    mount_namespace::enter(plan, etc_mount)?;
    let written = own_writes();
    // No process inside may inspect this one, which knows the outside.
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hidden.map_err(io::Error::from).map_err(Fault::host("making the supervisor non-dumpable"))?;
    // Changing credentials reset the parent-death signal.
    exec::die_with_parent().map_err(Fault::host("setting the parent-death signal"))?;
    Ok(written)
}

/// Maps the only user: to itself, or to an ordinary user if it is root, so that no program inside
/// assumes rights it does not have. Another root file system is owned by root.
fn set_user(user: User, is_root: bool) -> io::Result<()> {
    let inside = |id: u32| match (is_root, user.uid) {
        (true, _) => 0,
        (false, 0) => PLAIN_USER,
        (false, _) => id,
    };
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{} {} 1", inside(user.uid), user.uid))?;
    std::fs::write("/proc/self/gid_map", format!("{} {} 1", inside(user.gid), user.gid))
}

/// Starts the program and waits until it runs.
fn start(
    plan: &Plan,
    level: Level,
    scratch: &Path,
    streams: Streams,
    (mut group, notifications): (Option<Cgroup>, Option<&OwnedFd>),
) -> Result<(Pid, OwnedFd, Option<Cgroup>), Fault> {
    let fail = |error: io::Error| Fault::host("forking the program")(error);
    let (hear, tell) = io::pipe().map_err(fail)?;
    let forked = match &group {
        Some(within) => raw_syscalls::fork(0, Some(within.folder())).or_else(|_| {
            // An older kernel, or one that requires another placement.
            group = None;
            raw_syscalls::fork(0, None)
        }),
        None => raw_syscalls::fork(0, None),
    };
    match forked.map_err(fail)? {
        Fork::Child => {
            drop(hear);
            // Inside, only its own cgroup and those below it are visible.
            if level == Level::Namespace
                && let Err(error) = raw_syscalls::unshare(UnshareFlags::NEWCGROUP)
            {
                let text = serde_json::to_vec(&Fault::host("creating namespaces")(error));
                let _ =
                    std::fs::File::from(OwnedFd::from(tell)).write_all(&text.unwrap_or_default());
                raw_syscalls::exit_now(127)
            }
            let mut tell = OwnedFd::from(tell);
            // Above the descriptors that the program expects.
            if let Ok(aside) = rustix::io::fcntl_dupfd_cloexec(&tell, 128) {
                tell = aside;
            }
            if level != Level::Namespace {
                let _ = exec::die_with_parent();
            }
            // SAFETY: this process was forked and ends in this block, so it never returns to a
            // frame that owns a descriptor; `tell` was moved to a number that nothing overwrites.
            #[expect(unsafe_code, reason = "the program's descriptors have fixed numbers")]
            let prepared = unsafe { exec::prepare(plan, level, scratch, streams, notifications) };
            if let (Ok(()), Action::Try(outside)) = (&prepared, &plan.act) {
                // The attempts may cause notifications, and the supervisor answers only after this
                // is closed.
                drop(tell);
                self_test::report(outside, scratch);
                raw_syscalls::exit_now(0)
            }
            let fault = prepared.err().unwrap_or_else(|| exec::exec(plan, scratch));
            let text = serde_json::to_vec(&fault).unwrap_or_default();
            let _ = std::fs::File::from(tell).write_all(&text);
            raw_syscalls::exit_now(127)
        }
        Fork::Parent(child) => {
            // Only the program may hold the streams, so that readers see their end.
            drop(streams);
            drop(tell);
            let mut said = Vec::new();
            let mut hear = hear;
            hear.read_to_end(&mut said).map_err(fail)?;
            if said.is_empty() {
                return Ok((child.pid, child.pidfd, group));
            }
            Err(serde_json::from_slice(&said)
                .unwrap_or_else(|_| fail(io::Error::other("no reason"))))
        }
    }
}

impl Supervisor<'_> {
    fn supervise_until_empty(self) {
        let mut status = None;
        let stopped = self.until_ended(&mut status);
        let main_was_killed = status == Some(Status::Signalled(Signal::KILL.as_raw()));
        // The kernel killed it, as the limit watch would have.
        let starved = main_was_killed && self.group.as_ref().is_some_and(Cgroup::is_out_of_memory);
        let stopped = stopped.or(starved.then_some(LimitHit::Memory));
        end_all(self.tree, self.group.as_ref(), Some(self.main), &mut status);
        // Before reporting the end, because the caller may check the folder.
        drop(self.scratch);
        let status = status.unwrap_or(Status::Signalled(Signal::KILL.as_raw()));
        let micros = raw_syscalls::time_of_children().as_micros();
        let cpu_micros = u64::try_from(micros).unwrap_or(u64::MAX);
        let _ = control_socket::send(
            self.control,
            &SupervisorEvent::Ended { status, stopped, cpu_micros },
            &[],
        );
    }

    /// Waits for the end of the program and enforces the limits. Returns why it was stopped.
    fn until_ended(&self, status: &mut Option<Status>) -> Option<LimitHit> {
        let mut stopped = None;
        let mut deadline = self.watch.deadline();
        let mut looked = Instant::now();
        let mut rests = false;
        loop {
            let patience = if self.watch.is_needed() && !rests { CHECK_INTERVAL } else { IDLE };
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let (told, ended) = self.wait(left.map_or(patience, |left| left.min(patience)));
            process_tree::reap(Some(self.main), status);
            if ended || status.is_some() {
                return stopped;
            }
            if told {
                match self.next_order() {
                    Some(SupervisorOrder::Signal(number)) => self.signal(number),
                    Some(SupervisorOrder::Wake) => rests = false,
                    Some(SupervisorOrder::Sweep) => {
                        let killed = self.sweep(status);
                        rests = killed.is_some();
                        let _ = control_socket::send(
                            self.control,
                            &SupervisorEvent::Swept { killed },
                            &[],
                        );
                    }
                    Some(SupervisorOrder::End) if stopped.is_none() => {
                        stopped = Some(LimitHit::Killed);
                        deadline = Some(self.ask_to_end());
                        continue;
                    }
                    Some(SupervisorOrder::End) => {}
                    Some(SupervisorOrder::Kill) | None => {
                        return stopped.or(Some(LimitHit::Killed));
                    }
                }
            }
            if deadline.is_some_and(|at| at <= Instant::now()) {
                if stopped.is_some() {
                    return stopped;
                }
                stopped = Some(LimitHit::Time);
                deadline = Some(self.ask_to_end());
            }
            if looked.elapsed() >= CHECK_INTERVAL && self.watch.is_needed() {
                looked = Instant::now();
                if let Some(limit) = self.watch.check(self.group.as_ref()) {
                    return Some(stopped.unwrap_or(limit));
                }
            }
        }
    }

    /// Waits for an order and for the end of the program.
    fn wait(&self, time: Duration) -> (bool, bool) {
        // Without a notification listener, the same descriptor is polled twice.
        let notifications =
            self.notifications.as_ref().map_or(&self.ended, NotifyListener::listener);
        let mut all = [
            PollFd::new(self.control, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::new(notifications, PollFlags::IN),
        ];
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        // An interruption is handled like a timeout.
        let _ = poll(&mut all, Some(&time));
        let [told, ended, asked] = all;
        let (told, ended) = (!told.revents().is_empty(), !ended.revents().is_empty());
        let asked = asked.revents().contains(PollFlags::IN);
        if let Some(notifications) = self.notifications.as_ref().filter(|_| asked) {
            notifications.handle_one();
        }
        (told, ended)
    }

    /// Returns the next order; `None` if the creator has disconnected.
    fn next_order(&self) -> Option<SupervisorOrder> {
        control_socket::receive(self.control, RecvFlags::DONTWAIT)
            .ok()
            .flatten()
            .map(|(order, _)| order)
    }

    fn ask_to_end(&self) -> Instant {
        for signal in [Signal::TERM, Signal::CONT] {
            self.tree.signal_except(&self.backend_processes(), signal);
        }
        Instant::now() + GRACE
    }

    /// Returns the processes of the external backend, without the program inside.
    fn backend_processes(&self) -> Vec<Pid> {
        if self.is_external_backend {
            process_tree::only_child_chain(self.main)
        } else {
            Vec::new()
        }
    }

    /// Returns the processes that are never killed: the program, and its external backend.
    fn spared_processes(&self) -> Vec<Pid> {
        let mut kept = self.backend_processes();
        kept.extend(if self.is_external_backend {
            process_tree::second_of(&kept)
        } else {
            Some(self.main)
        });
        kept
    }

    /// Kills everything but the program and returns the number; `None` if some are left.
    fn sweep(&self, status: &mut Option<Status>) -> Option<u32> {
        let mut killed = HashSet::new();
        for _ in 0..SWEEPS {
            process_tree::reap(Some(self.main), status);
            let others = self.tree.except(&self.spared_processes());
            if others.is_empty() {
                return u32::try_from(killed.len()).ok();
            }
            for pid in &others {
                let _ = kill_process(*pid, Signal::KILL);
            }
            killed.extend(others);
            std::thread::sleep(Duration::from_micros(200));
        }
        None
    }

    fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            self.tree.signal_except(&self.backend_processes(), signal);
        }
    }
}

/// Kills all remaining processes and waits for them.
fn end_all(
    tree: ProcessTree,
    group: Option<&Cgroup>,
    main: Option<Pid>,
    status: &mut Option<Status>,
) {
    let begun = Instant::now();
    if let Some(group) = group.filter(|_| tree == ProcessTree::Descendants) {
        group.kill();
    }
    while process_tree::reap(main, status) && begun.elapsed() < REAP {
        tree.kill();
        if !process_tree::reap(main, status) {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A private folder for temporary files, because `/tmp` is shared.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = std::env::temp_dir().canonicalize()?;
        let pid = rustix::process::getpid().as_raw_nonzero();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let path = folder.join(format!("toolcrib-sandbox-{pid}-{now:x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
