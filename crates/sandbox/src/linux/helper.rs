//! Sandbox helper: this executable in another role. It has a single thread, so that it can create
//! sandboxes by forking, and lives as long as the process that started it.

use std::ffi::OsString;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};

use super::cgroup;
use super::control_socket::{self, Fault, SupervisorEvent};
use super::etc_idmap;
use super::exec::Streams;
use super::orphans::Supervisors;
use super::plan::Plan;
use super::raw_syscalls::{self, Fork, Forked};
use super::supervisor::{self, User};
use crate::Level;

/// The argument that selects this role.
pub(super) const ROLE: &str = "sandbox-helper";

/// A request for a sandbox. Attached descriptors: the plan in a file, the control socket, the three
/// streams, and the bridge if there is one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SandboxRequest {
    pub(super) level: Level,
}

/// Runs the sandbox helper if the arguments (without the program's name) select it, and returns its
/// exit code.
///
/// Must be called at the very beginning of a program, before it creates threads or reads input.
#[must_use]
pub fn helper_entry(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(word), None) if word == ROLE => Some(serve()),
        _ => {
            crate::process::executable_is_helper();
            None
        }
    }
}

/// Serves the socket on standard input until it closes.
fn serve() -> u8 {
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return 1 };
    let Ok(nothing) = std::fs::File::open("/dev/null") else { return 1 };
    // Sandboxes must not inherit it.
    if rustix::stdio::dup2_stdin(&nothing).is_err() {
        return 1;
    }
    raw_syscalls::close_on_exec_from(3);
    // Keys and signals of the person's terminal are for the process that started this one.
    let _ = rustix::process::setsid();
    raw_syscalls::auto_reap_children();
    forget_groups();
    Supervisors::adopt_orphans();
    let mut supervisors = Supervisors::default();
    let code = serve_requests(&socket, &mut supervisors);
    supervisors.end();
    code
}

fn serve_requests(socket: &OwnedFd, supervisors: &mut Supervisors) -> u8 {
    loop {
        if supervisors.wait_for(socket).is_err() {
            return 1;
        }
        match control_socket::receive::<SandboxRequest>(socket, RecvFlags::empty()) {
            Ok(Some((wanted, fds))) => match start_sandbox(&wanted, fds, socket) {
                Some(started) => started.into_iter().for_each(|one| supervisors.add(one)),
                None => return 1,
            },
            Ok(None) => return 0,
            Err(_) => return 1,
        }
    }
}

/// Drops root's supplementary groups, which would remain effective in a sandbox.
pub(super) fn forget_groups() {
    if rustix::process::geteuid().is_root() {
        let _ = rustix::thread::set_thread_groups(&[]);
    }
}

/// Creates one sandbox and returns its supervisor, if it was created; `None` if the request is
/// invalid.
fn start_sandbox(
    wanted: &SandboxRequest,
    fds: Vec<OwnedFd>,
    socket: &OwnedFd,
) -> Option<Option<Forked>> {
    let mut fds = fds.into_iter();
    let (plan, control) = (fds.next()?, fds.next()?);
    let streams = Streams {
        stdin: fds.next()?,
        stdout: fds.next()?,
        stderr: fds.next()?,
        bridge: fds.next(),
    };
    let made = read(plan).map_err(Fault::host("reading the plan"));
    let started = made.and_then(|plan| fork(&plan, wanted.level, &control, streams, Some(socket)));
    if let Err(fault) = &started {
        let _ = control_socket::send(&control, &SupervisorEvent::Failed(fault.clone()), &[]);
    }
    Some(started.ok())
}

/// Creates a sandbox as a child of this process, which must have only one thread. Everything else
/// is reported through the control socket.
pub(super) fn fork(
    plan: &Plan,
    level: Level,
    control: &OwnedFd,
    streams: Streams,
    not_for_it: Option<&OwnedFd>,
) -> Result<Forked, Fault> {
    let user = User::current();
    // Determined here, because namespaces hide the outside.
    let place = cgroup::parent_for(level);
    // A process inside a user namespace could not create it.
    let etc_mount =
        (level == Level::Namespace && plan.idmapped_etc).then(etc_idmap::mount_tree).transpose();
    let etc_mount = etc_mount.map_err(Fault::host("the ID-mapped mount of /etc"))?;
    let forked = raw_syscalls::fork(supervisor::fork_flags(level), None);
    let forked = forked.map_err(Fault::host("creating the user namespace"))?;
    match forked {
        Fork::Child => {
            if let Some(fd) = not_for_it {
                // If it stayed open here, the parent would still appear to serve it.
                // SAFETY: `supervise` does not return, so this process never reaches the owner of
                // the descriptor again.
                #[expect(unsafe_code, reason = "the owner is in a frame of the parent")]
                unsafe {
                    raw_syscalls::close(fd.as_fd());
                }
            }
            supervisor::supervise((plan, level, user), (place, etc_mount), control, streams)
        }
        Fork::Parent(child) => {
            // The caller may have disconnected; the supervisor detects that too.
            let _ = control_socket::send(control, &SupervisorEvent::Forked, &[child.pidfd.as_fd()]);
            Ok(child)
        }
    }
}

fn read(plan: OwnedFd) -> io::Result<Plan> {
    let mut file = std::fs::File::from(plan);
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
