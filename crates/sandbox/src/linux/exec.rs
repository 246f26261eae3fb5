//! The last steps before `execve`: streams, limits, rights and filters.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, Signal, setrlimit, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::control_socket::{Fault, FaultSource};
use super::landlock;
use super::plan::{Action, Amounts, FILTERS, Net, Plan};
use super::process_tree;
use super::raw_syscalls;
use super::seccomp_filter::{self, FilterOptions};
use super::seccomp_notify;
use crate::Level;
use crate::process::tool_mark;

/// The standard streams of a program.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) bridge: Option<OwnedFd>,
}

/// Descriptors from here on are used while the first ones are installed.
const OURS: i32 = 64;

/// Drops all rights and resources of this process that the program must not have.
///
/// # Safety
/// This is a forked process that runs the program or exits next: except for `streams` and
/// `supervisor`, it no longer uses any descriptor below [`OURS`] that was open before.
#[expect(unsafe_code, reason = "descriptors get the numbers where the program expects them")]
pub(super) unsafe fn prepare(
    plan: &Plan,
    level: Level,
    scratch: &Path,
    streams: Streams,
    supervisor: Option<&OwnedFd>,
) -> Result<(), Fault> {
    raw_syscalls::reset_signals();
    // Without a controlling terminal, so that the program cannot inject input into it.
    let _ = setsid();
    // Move it to a number above `OURS`: the numbers of the bridge or of a filter could replace it.
    let aside = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, OURS).map_err(io::Error::from);
    let supervisor = supervisor
        .map(aside)
        .transpose()
        .map_err(Fault::host("installing the seccomp notification"))?;
    // SAFETY: the caller guarantees it; `supervisor` was moved away.
    unsafe { install_streams(streams) }.map_err(Fault::host("setting up the streams"))?;
    rustix::process::chdir(Path::new(&plan.folder))
        .map_err(io::Error::from)
        .map_err(Fault::path(Path::new(&plan.folder)))?;
    // Before the limits, because a limit on file size would also apply to these files.
    if let Action::Run { filters: Some(kind), .. } = &plan.act {
        // SAFETY: the caller guarantees it.
        unsafe { pass_filters(*kind) }.map_err(Fault::host("passing the filters"))?;
    }
    set_rlimits(&plan.amounts, level).map_err(Fault::host("setting limits"))?;
    tool_mark::mark_this_process().map_err(Fault::host("marking the program as a tool's"))?;
    if level == Level::None {
        return Ok(());
    }
    drop_rights(rights(plan)).map_err(Fault::host("dropping capabilities"))?;
    match level {
        Level::Namespace => landlock::within_root(&plan.views)?,
        _ => landlock::on_host(&plan.views, scratch)?,
    }
    seccomp_filter::apply(filter_options(plan, level))?;
    let Some(supervisor) = supervisor else { return Ok(()) };
    seccomp_notify::install(&supervisor).map_err(Fault::host("installing the seccomp notification"))
}

/// Returns the capabilities of root in another root file system: to use its own files with any
/// modes, and to chroot, as package managers do. In namespaces they affect only visible files and
/// processes.
fn rights(plan: &Plan) -> CapabilitySet {
    if plan.has_rootfs() {
        CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER | CapabilitySet::SYS_CHROOT
    } else {
        CapabilitySet::empty()
    }
}

/// Returns the seccomp filter of a plan.
pub(super) fn filter_options(plan: &Plan, level: Level) -> FilterOptions {
    FilterOptions {
        is_apart: level == Level::Namespace,
        is_root: plan.has_rootfs(),
        net: plan.net,
        counts_memory: plan.amounts.memory.is_some(),
        counts_disk: plan.amounts.disk.is_some(),
    }
}

/// Moves the streams to the descriptor numbers that programs expect. All other descriptors close
/// when the program starts.
///
/// # Safety
/// As for [`prepare`].
#[expect(unsafe_code, reason = "number 3 may have another owner")]
unsafe fn install_streams(streams: Streams) -> io::Result<()> {
    let aside = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, OURS);
    let stdin = aside(streams.stdin)?;
    let stdout = aside(streams.stdout)?;
    let stderr = aside(streams.stderr)?;
    let bridge = streams.bridge.map(aside).transpose()?;
    rustix::stdio::dup2_stdin(&stdin)?;
    rustix::stdio::dup2_stdout(&stdout)?;
    rustix::stdio::dup2_stderr(&stderr)?;
    raw_syscalls::close_on_exec_from(3);
    if let Some(bridge) = &bridge {
        // SAFETY: the caller guarantees that the owner of number 3 is not used again.
        unsafe { raw_syscalls::dup_inheritable(bridge.as_fd(), 3) }?;
    }
    Ok(())
}

/// Limits that the kernel enforces per process.
fn set_rlimits(amounts: &Amounts, level: Level) -> io::Result<()> {
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
        // Twice the limit of all processes together: reserved memory is not used memory, but a
        // large jump is stopped at once.
        set(Resource::Data, bytes.saturating_mul(2))?;
    }
    // Limits do not apply to root, unless it has another id in a namespace.
    let binds = level == Level::Namespace || !rustix::process::geteuid().is_root();
    if let Some(count) = amounts.processes.filter(|_| binds) {
        // Counted per user and user namespace, including the first process. Without a namespace,
        // other processes of the user count too.
        let others = if level == Level::Namespace { 1 } else { process_tree::count_user_tasks() };
        set(Resource::Nproc, u64::from(count) + others)?;
    }
    Ok(())
}

/// Permanently drops all capabilities but these.
pub(super) fn drop_rights(kept: CapabilitySet) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let _ = rustix::thread::clear_ambient_capability_set();
    // The number of the last capability is not known in advance.
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // On exec, root of a namespace gets at most the capabilities that remain in this set.
        if kept.contains(one) {
            continue;
        }
        if rustix::thread::remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    // An ordinary user has none.
    let kept = kept & rustix::thread::capabilities(None)?.permitted;
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}

/// Executes the program of a plan. Returns only on failure.
pub(super) fn exec(plan: &Plan, scratch: &Path) -> Fault {
    let Action::Run { program, args, env, .. } = &plan.act else {
        return Fault::host("starting")(io::Error::other("there is no program"));
    };
    run(program, args, env, plan.scratch.then_some(scratch))
}

/// Moves the filters to the descriptor numbers that the program expects.
///
/// # Safety
/// As for [`prepare`].
#[expect(unsafe_code, reason = "these numbers may have other owners")]
unsafe fn pass_filters(kind: FilterOptions) -> io::Result<()> {
    for (number, bytes) in (FILTERS..).zip(seccomp_filter::encoded_programs(kind)?) {
        let file = rustix::fs::memfd_create("filter", rustix::fs::MemfdFlags::CLOEXEC)?;
        let file = rustix::io::fcntl_dupfd_cloexec(file, OURS)?;
        let mut file = std::fs::File::from(file);
        file.write_all(&bytes)?;
        file.rewind()?;
        // SAFETY: the caller guarantees that the owner of this number is not used again.
        unsafe { raw_syscalls::dup_inheritable(file.as_fd(), number) }?;
    }
    Ok(())
}

fn run(
    program: &OsStr,
    args: &[OsString],
    env: &[(OsString, OsString)],
    scratch: Option<&Path>,
) -> Fault {
    let fail =
        |error: io::Error| Fault::new(FaultSource::Program, program.to_string_lossy())(error);
    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::other);
    let prepared = || -> io::Result<(Vec<CString>, Vec<CString>)> {
        let args = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        let args = args.map(text).collect::<io::Result<_>>()?;
        let own = |scratch| {
            ["HOME", "TMPDIR"].map(|name| (OsString::from(name), OsString::from(scratch)))
        };
        let own: Vec<_> = scratch.into_iter().flat_map(own).collect();
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
        let error = raw_syscalls::execute(&path, &args, &env_texts);
        // Like shells: a file that cannot be executed is remembered, and the search continues.
        if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) {
            worst = error;
        }
    }
    fail(worst)
}

/// Returns the variables without those that a later one of the same name replaces.
fn last_of_each(env: &[(OsString, OsString)]) -> impl Iterator<Item = &(OsString, OsString)> {
    env.iter().enumerate().filter_map(|(index, pair)| {
        let later = env.iter().skip(index + 1);
        (!later.into_iter().any(|(name, _)| *name == pair.0)).then_some(pair)
    })
}

/// Returns the candidate files for a program name.
fn candidates(program: &OsStr, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).collect()
}

/// Sets `PR_SET_PDEATHSIG`, so that this process is killed when its parent ends.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Returns whether a plan uses the host's network.
pub(super) fn shares_network(plan: &Plan) -> bool {
    plan.net == Net::Host
}
