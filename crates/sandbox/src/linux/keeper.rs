//! The keeper: the first process of a sandbox. It makes the sandbox, starts the program, looks after what the kernel does not bound,
//! and ends when nothing is left. With a pid namespace it is the process whose end is everybody's end; without, what loses its parent
//! falls to it.

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

use super::attempts;
use super::cgroup::{Group, Place};
use super::command::{self, Streams};
use super::control::{self, Event, Fault, Order};
use super::plan::{Act, Net, PROXY_PORT, Plan};
use super::questions::Questions;
use super::root::{self, SCRATCH};
use super::sys::{self, Fork};
use super::tree::{self, Tree};
use super::watch::{LOOK, Watch};
use crate::Level;
use crate::job::{Status, Stop};
use crate::process::GRACE;

/// How long killed processes are waited for. Only one that is stuck in the kernel needs longer.
const REAP: Duration = Duration::from_secs(5);

/// How often it is looked for others than the program, and those killed, before they count as more than can be killed.
const SWEEPS: usize = 500;

/// How often orphans are looked for where nothing else is to be looked at.
const IDLE: Duration = Duration::from_millis(200);

/// The name of the machine, inside.
const HOST_NAME: &[u8] = b"sandbox";

/// The number of the user inside, where it is root outside.
const PLAIN_USER: u32 = 1000;

/// Flags of the fork that makes a keeper of this level.
pub(super) fn fork_flags(level: Level) -> i32 {
    match level {
        Level::Namespace => libc::CLONE_NEWUSER | libc::CLONE_NEWPID,
        _ => 0,
    }
}

/// What a keeper needs to know of the user outside, before it is somebody else.
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

/// Keeps a sandbox to its end, and ends with it.
pub(super) fn keep(
    (plan, level, user): (&Plan, Level, User),
    (place, strange): (Option<&'static Place>, Option<OwnedFd>),
    control: &OwnedFd,
    streams: Streams,
) -> ! {
    // The helper ignores the end of its children, and tests may hold signals back.
    sys::reset_signals();
    // Where none can be made, everything else holds all the same.
    let group = place.and_then(|place| Group::new(place, &plan.amounts).ok());
    let code = match begin((plan, level, user), (group, strange), control, streams) {
        Ok(keeper) => {
            keeper.stay();
            0
        }
        Err(fault) => {
            // What already runs may have been what could not be bounded.
            if level != Level::Namespace {
                end_all(Tree::Descendants, None, None, &mut None);
            }
            let _ = control::send(control, &Event::Failed(fault), &[]);
            1
        }
    };
    // The temporary folder of a reduced level is gone by now, everything else was memory.
    sys::leave(code)
}

/// A sandbox with its program running.
struct Keeper<'a> {
    control: &'a OwnedFd,
    tree: Tree,
    main: Pid,
    /// Whether that makes the walls of another one.
    is_of_walls: bool,
    ended: OwnedFd,
    watch: Watch,
    group: Option<Group>,
    questions: Option<Questions>,
    scratch: Option<Scratch>,
}

fn begin<'a>(
    (plan, level, user): (&Plan, Level, User),
    (group, strange): (Option<Group>, Option<OwnedFd>),
    control: &'a OwnedFd,
    streams: Streams,
) -> Result<Keeper<'a>, Fault> {
    let (scratch, written) = match level {
        Level::Namespace => (None, apart(plan, user, strange, control)?),
        _ => {
            let nobody = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            nobody.map_err(io::Error::from).map_err(Fault::host("adopting orphans"))?;
            // To root no limit holds that the kernel keeps here, and a thousand processes would leave this one no time to end them.
            sys::go_first();
            let scratch = Scratch::new().map_err(Fault::host("a folder for temporary files"))?;
            (Some(scratch), own_writes())
        }
    };
    let tree = if level == Level::Namespace { Tree::Namespace } else { Tree::Descendants };
    let temporary = scratch.as_ref().map_or(Path::new(SCRATCH), |scratch| &scratch.0);
    // Before the program runs: what it fills up counts from here.
    let own = (level == Level::Namespace).then_some(Path::new(root::ALSO_SCRATCH));
    let mut views = plan.views.clone();
    if let Some(scratch) = &scratch {
        views.push(super::plan::View {
            path: scratch.0.clone().into(),
            from: None,
            how: super::plan::How::Write,
        });
    }
    let watch = Watch::new(tree, plan.amounts, &views, own, written);
    let asked = (level == Level::Reduced).then(control::pair).transpose();
    let asked = asked.map_err(Fault::host("asking first"))?;
    let asks = asked.as_ref().map(|(_, theirs)| theirs);
    let (main, ended, group) = start(plan, level, temporary, streams, (group, asks))?;
    let questions = asked.and_then(|(ours, _)| Questions::take(&ours, views));
    if level > Level::None {
        // To look at all processes of the sandbox, and to signal them.
        let kept = CapabilitySet::SYS_PTRACE | CapabilitySet::KILL;
        command::drop_rights(kept).map_err(Fault::host("giving up rights"))?;
    }
    control::send(control, &Event::Started, &[]).map_err(Fault::host("saying so"))?;
    let is_of_walls = plan.is_of_walls();
    Ok(Keeper { control, tree, main, is_of_walls, ended, watch, group, questions, scratch })
}

/// Where the kernel counts what this process writes, and those that it reaps; `None` = this kernel does not.
fn own_writes() -> Option<File> {
    File::open("/proc/self/io").ok()
}

/// Namespaces of its own, and in them a root of its own.
fn apart(
    plan: &Plan,
    user: User,
    strange: Option<OwnedFd>,
    control: &OwnedFd,
) -> Result<Option<File>, Fault> {
    command::die_with_parent().map_err(Fault::host("tying the ends together"))?;
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !command::shares_network(plan) {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).map_err(Fault::host("namespaces"))?;
    be_somebody(user, plan.has_other_root()).map_err(Fault::host("a user of its own"))?;
    if !command::shares_network(plan) {
        sys::raise_loopback().map_err(Fault::host("a network of its own"))?;
    }
    if plan.net == Net::Proxy {
        // The listener lives in this network and is served from outside: nothing in here carries bytes, and no path leads out.
        let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT));
        let listener = listener.map_err(Fault::host("a place for the proxy"))?;
        control::send(control, &Event::Listening, &[listener.as_fd()])
            .map_err(Fault::host("handing over to the proxy"))?;
    }
    let _ = rustix::system::sethostname(HOST_NAME);
    root::enter(plan, strange)?;
    let written = own_writes();
    // Nobody inside may look into this process, which knows the outside.
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hidden.map_err(io::Error::from).map_err(Fault::host("closing itself"))?;
    // The change of its rights made the kernel forget that.
    command::die_with_parent().map_err(Fault::host("tying the ends together"))?;
    Ok(written)
}

/// Names the one user that there is: itself, or a plain one where it is root, so that nothing inside believes in rights it has not. Another
/// system belongs to its root.
fn be_somebody(user: User, is_root: bool) -> io::Result<()> {
    let inside = |id: u32| match (is_root, user.uid) {
        (true, _) => 0,
        (false, 0) => PLAIN_USER,
        (false, _) => id,
    };
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{} {} 1", inside(user.uid), user.uid))?;
    std::fs::write("/proc/self/gid_map", format!("{} {} 1", inside(user.gid), user.gid))
}

/// Starts the program, and knows afterwards that it runs.
fn start(
    plan: &Plan,
    level: Level,
    scratch: &Path,
    streams: Streams,
    (mut group, questions): (Option<Group>, Option<&OwnedFd>),
) -> Result<(Pid, OwnedFd, Option<Group>), Fault> {
    let fail = |error: io::Error| Fault::host("a process for the program")(error);
    let (hear, tell) = io::pipe().map_err(fail)?;
    let forked = match &group {
        Some(within) => sys::fork(0, Some(within.folder())).or_else(|_| {
            // An older kernel, or one that wants it made elsewhere.
            group = None;
            sys::fork(0, None)
        }),
        None => sys::fork(0, None),
    };
    match forked.map_err(fail)? {
        Fork::Child => {
            drop(hear);
            // It sees its own groups alone, from the one on that it is in.
            if level == Level::Namespace
                && let Err(error) = sys::unshare(UnshareFlags::NEWCGROUP)
            {
                let text = serde_json::to_vec(&Fault::host("namespaces")(error));
                let _ =
                    std::fs::File::from(OwnedFd::from(tell)).write_all(&text.unwrap_or_default());
                sys::leave(127)
            }
            let mut tell = OwnedFd::from(tell);
            // Out of the way of the numbers that the program knows.
            if let Ok(aside) = rustix::io::fcntl_dupfd_cloexec(&tell, 128) {
                tell = aside;
            }
            if level != Level::Namespace {
                let _ = command::die_with_parent();
            }
            let prepared = command::prepare(plan, level, scratch, streams, questions);
            if let (Ok(()), Act::Try(outside)) = (&prepared, &plan.act) {
                // What is tried may have to be asked about, and the keeper answers only when this is closed.
                drop(tell);
                attempts::report(outside, scratch);
                sys::leave(0)
            }
            let fault = prepared.err().unwrap_or_else(|| command::act(plan, scratch));
            let text = serde_json::to_vec(&fault).unwrap_or_default();
            let _ = std::fs::File::from(tell).write_all(&text);
            sys::leave(127)
        }
        Fork::Parent(child) => {
            // The streams are the program's alone: what reads them must see their end.
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

impl Keeper<'_> {
    fn stay(self) {
        let mut status = None;
        let stopped = self.until_ended(&mut status);
        let main_was_killed = status == Some(Status::Signalled(Signal::KILL.as_raw()));
        // The kernel ended it, as it would end what the watch finds.
        let starved = main_was_killed && self.group.as_ref().is_some_and(Group::is_out_of_memory);
        let stopped = stopped.or(starved.then_some(Stop::Memory));
        end_all(self.tree, self.group.as_ref(), Some(self.main), &mut status);
        // Before the word is given: whoever hears it may look.
        drop(self.scratch);
        let status = status.unwrap_or(Status::Signalled(Signal::KILL.as_raw()));
        let micros = sys::time_of_children().as_micros();
        let cpu_micros = u64::try_from(micros).unwrap_or(u64::MAX);
        let _ = control::send(self.control, &Event::Ended { status, stopped, cpu_micros }, &[]);
    }

    /// Waits for the end of the program, and brings it about when it has to be. Says why it was stopped.
    fn until_ended(&self, status: &mut Option<Status>) -> Option<Stop> {
        let mut stopped = None;
        let mut deadline = self.watch.deadline();
        let mut looked = Instant::now();
        let mut rests = false;
        loop {
            let patience = if self.watch.is_needed() && !rests { LOOK } else { IDLE };
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let (told, ended) = self.wait(left.map_or(patience, |left| left.min(patience)));
            tree::reap(Some(self.main), status);
            if ended || status.is_some() {
                return stopped;
            }
            if told {
                match self.told() {
                    Some(Order::Signal(number)) => self.signal(number),
                    Some(Order::Wake) => rests = false,
                    Some(Order::Sweep) => {
                        let killed = self.sweep(status);
                        rests = killed.is_some();
                        let _ = control::send(self.control, &Event::Swept { killed }, &[]);
                    }
                    Some(Order::End) if stopped.is_none() => {
                        stopped = Some(Stop::Killed);
                        deadline = Some(self.ask_to_end());
                        continue;
                    }
                    Some(Order::End) => {}
                    Some(Order::Kill) | None => return stopped.or(Some(Stop::Killed)),
                }
            }
            if deadline.is_some_and(|at| at <= Instant::now()) {
                if stopped.is_some() {
                    return stopped;
                }
                stopped = Some(Stop::Time);
                deadline = Some(self.ask_to_end());
            }
            if looked.elapsed() >= LOOK && self.watch.is_needed() {
                looked = Instant::now();
                if let Some(limit) = self.watch.look(self.group.as_ref()) {
                    return Some(stopped.unwrap_or(limit));
                }
            }
        }
    }

    /// Waits for a message and for the end of the program.
    fn wait(&self, time: Duration) -> (bool, bool) {
        // Where nobody asks, one is looked at twice.
        let questions = self.questions.as_ref().map_or(&self.ended, Questions::listener);
        let mut all = [
            PollFd::new(self.control, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::new(questions, PollFlags::IN),
        ];
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        // An interruption is as good as the end of the time.
        let _ = poll(&mut all, Some(&time));
        let [told, ended, asked] = all;
        let (told, ended) = (!told.revents().is_empty(), !ended.revents().is_empty());
        let asked = asked.revents().contains(PollFlags::IN);
        if let Some(questions) = self.questions.as_ref().filter(|_| asked) {
            questions.answer();
        }
        (told, ended)
    }

    /// What is to be done; `None` = nobody is left who could say.
    fn told(&self) -> Option<Order> {
        control::receive(self.control, RecvFlags::DONTWAIT).ok().flatten().map(|(order, _)| order)
    }

    fn ask_to_end(&self) -> Instant {
        for signal in [Signal::TERM, Signal::CONT] {
            self.tree.signal_but(&self.walls(), signal);
        }
        Instant::now() + GRACE
    }

    /// The processes that are walls around the program, and not what runs within them.
    fn walls(&self) -> Vec<Pid> {
        if self.is_of_walls { tree::chain(self.main) } else { Vec::new() }
    }

    /// What no sweep takes: the program, and its walls.
    fn kept(&self) -> Vec<Pid> {
        let mut kept = self.walls();
        kept.extend(if self.is_of_walls { tree::second_of(&kept) } else { Some(self.main) });
        kept
    }

    /// Kills everything but the program, and says how many that were; `None` = some are left.
    fn sweep(&self, status: &mut Option<Status>) -> Option<u32> {
        let mut killed = HashSet::new();
        for _ in 0..SWEEPS {
            tree::reap(Some(self.main), status);
            let others = self.tree.but(&self.kept());
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
            self.tree.signal_but(&self.walls(), signal);
        }
    }
}

/// Kills what is left, and waits until it is gone.
fn end_all(tree: Tree, group: Option<&Group>, main: Option<Pid>, status: &mut Option<Status>) {
    let begun = Instant::now();
    if let Some(group) = group.filter(|_| tree == Tree::Descendants) {
        group.kill();
    }
    while tree::reap(main, status) && begun.elapsed() < REAP {
        tree.kill();
        if !tree::reap(main, status) {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A private folder for temporary files, where `/tmp` is everybody's.
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
