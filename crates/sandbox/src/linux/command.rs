//! The last steps before a program: what it keeps open, what it may use, what it may do. Then it is what it is.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, Signal, setrlimit, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::control::{Blame, Fault};
use super::filter::{self, Kind};
use super::plan::{Act, Amounts, FILTERS, Net, Plan};
use super::questions;
use super::rules;
use super::sys;
use super::tree;
use crate::Level;

/// The streams that a program gets.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) bridge: Option<OwnedFd>,
}

/// Numbers from here on are ours while the first ones are filled.
const OURS: i32 = 64;

/// Takes everything away from this process that the program shall not have.
pub(super) fn prepare(
    plan: &Plan,
    level: Level,
    scratch: &Path,
    streams: Streams,
    keeper: Option<&OwnedFd>,
) -> Result<(), Fault> {
    sys::reset_signals();
    // No terminal that it could type into.
    let _ = setsid();
    give(streams).map_err(Fault::host("passing the streams on"))?;
    rustix::process::chdir(Path::new(&plan.folder))
        .map_err(io::Error::from)
        .map_err(Fault::path(Path::new(&plan.folder)))?;
    // Before the limits: one on the size of files would hold for these too.
    if let Act::Run { filters: Some(kind), .. } = &plan.act {
        pass_filters(*kind).map_err(Fault::host("passing the filters on"))?;
    }
    bound(&plan.amounts, level).map_err(Fault::host("limits"))?;
    if level == Level::None {
        return Ok(());
    }
    drop_rights(rights(plan)).map_err(Fault::host("giving up rights"))?;
    match level {
        Level::Namespace => rules::within_root(&plan.views)?,
        _ => rules::on_host(&plan.views, scratch)?,
    }
    filter::apply(kind(plan, level))?;
    let Some(keeper) = keeper else { return Ok(()) };
    questions::ask_first(keeper).map_err(Fault::host("asking first"))
}

/// What root of another system may do there: use its own files whatever their modes say, and change the root of what it starts, as package
/// managers do. In namespaces it reaches nothing with that but what it sees anyway.
fn rights(plan: &Plan) -> CapabilitySet {
    if plan.has_other_root() {
        CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::SYS_CHROOT
    } else {
        CapabilitySet::empty()
    }
}

/// The filter of a plan.
pub(super) fn kind(plan: &Plan, level: Level) -> Kind {
    Kind {
        is_apart: level == Level::Namespace,
        is_root: plan.has_other_root(),
        net: plan.net,
        counts_memory: plan.amounts.memory.is_some(),
        counts_disk: plan.amounts.disk.is_some(),
    }
}

/// Puts the streams where programs look for them. Everything else closes when the program starts.
fn give(streams: Streams) -> io::Result<()> {
    let aside = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, OURS);
    let stdin = aside(streams.stdin)?;
    let stdout = aside(streams.stdout)?;
    let stderr = aside(streams.stderr)?;
    let bridge = streams.bridge.map(aside).transpose()?;
    rustix::stdio::dup2_stdin(&stdin)?;
    rustix::stdio::dup2_stdout(&stdout)?;
    rustix::stdio::dup2_stderr(&stderr)?;
    sys::close_on_exec_from(3);
    if let Some(bridge) = &bridge {
        sys::pass_on(bridge.as_fd(), 3)?;
    }
    Ok(())
}

/// Limits that the kernel keeps, each for one process.
fn bound(amounts: &Amounts, level: Level) -> io::Result<()> {
    let set = |resource, most: u64| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    set(Resource::Core, 0)?;
    if let Some(bytes) = amounts.file() {
        set(Resource::Fsize, bytes)?;
    }
    if let Some(time) = amounts.cpu {
        set(Resource::Cpu, time.as_secs() + 1)?;
    }
    if let Some(bytes) = amounts.memory {
        // Twice as much as all may have together: what is asked for is not what is used, but a leap is stopped at once.
        set(Resource::Data, bytes.saturating_mul(2))?;
    }
    // To root, which has another number in a namespace, it is no limit.
    let binds = level == Level::Namespace || !rustix::process::geteuid().is_root();
    if let Some(count) = amounts.processes.filter(|_| binds) {
        // Counted for each user of each user namespace; the first process is there too. Without a namespace everything else that the user
        // runs counts as well.
        let others = if level == Level::Namespace { 1 } else { tree::of_this_user() };
        set(Resource::Nproc, u64::from(count) + others)?;
    }
    Ok(())
}

/// Gives up all rights of root but these, for good.
pub(super) fn drop_rights(kept: CapabilitySet) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let _ = rustix::thread::clear_ambient_capability_set();
    // The number of the last one is not known before it is asked for.
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // Root of a namespace gets at the start of a program what is left here, and never more than it has.
        if kept.contains(one) {
            continue;
        }
        if rustix::thread::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    // An ordinary user has none to keep.
    let kept = kept & rustix::thread::capabilities(None)?.permitted;
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}

/// Becomes the program of a plan. Returns only what went wrong.
pub(super) fn act(plan: &Plan, scratch: &Path) -> Fault {
    let Act::Run { program, args, env, .. } = &plan.act else {
        return Fault::host("starting")(io::Error::other("there is no program"));
    };
    run(program, args, env, scratch)
}

/// Puts filters where the program looks for them.
fn pass_filters(kind: Kind) -> io::Result<()> {
    for (number, bytes) in (FILTERS..).zip(filter::files(kind)?) {
        let file = rustix::fs::memfd_create("filter", rustix::fs::MemfdFlags::CLOEXEC)?;
        let file = rustix::io::fcntl_dupfd_cloexec(file, OURS)?;
        let mut file = std::fs::File::from(file);
        file.write_all(&bytes)?;
        file.rewind()?;
        sys::pass_on(file.as_fd(), number)?;
    }
    Ok(())
}

fn run(program: &OsStr, args: &[OsString], env: &[(OsString, OsString)], scratch: &Path) -> Fault {
    let fail = |error: io::Error| Fault::by(Blame::Program, program.to_string_lossy())(error);
    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::other);
    let prepared = || -> io::Result<(Vec<CString>, Vec<CString>)> {
        let args = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        let args = args.map(text).collect::<io::Result<_>>()?;
        let own = ["HOME", "TMPDIR"].map(|name| (OsString::from(name), OsString::from(scratch)));
        let named = |name: &OsStr| env.iter().any(|(other, _)| other == name);
        let env = own.iter().filter(|(name, _)| !named(name)).chain(last_of_each(env));
        let env = env.map(|(name, value)| {
            let mut line = name.clone();
            line.push("=");
            line.push(value);
            text(&line)
        });
        Ok((args, env.collect::<io::Result<_>>()?))
    };
    let (args, env_texts) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => return fail(error),
    };
    let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(program, env) {
        let Ok(path) = CString::new(candidate.into_os_string().into_vec()) else { continue };
        let error = sys::execute(&path, &args, &env_texts);
        // As shells do: a file that cannot be run is remembered, and the next folder is looked into.
        if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) {
            worst = error;
        }
    }
    fail(worst)
}

/// The variables without those that a later one of the same name replaces.
fn last_of_each(env: &[(OsString, OsString)]) -> impl Iterator<Item = &(OsString, OsString)> {
    env.iter().enumerate().filter_map(|(index, pair)| {
        let later = env.iter().skip(index + 1);
        (!later.into_iter().any(|(name, _)| *name == pair.0)).then_some(pair)
    })
}

/// The files that a program of this name may be.
fn candidates(program: &OsStr, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).collect()
}

/// Has this process killed when the one that made it ends.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Whether the network of a plan is the host's own.
pub(super) fn shares_network(plan: &Plan) -> bool {
    plan.net == Net::Host
}
