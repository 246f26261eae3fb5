//! The helper: this executable in another role. It has one thread, so that it can make sandboxes by forking, and lives as long as the
//! process that started it.

use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};

use super::cgroup;
use super::command::Streams;
use super::control::{self, Event, Fault};
use super::keeper::{self, User};
use super::plan::Plan;
use super::stranger;
use super::sys::{self, Fork};
use crate::Level;

/// The word that makes this executable the helper.
pub(super) const ROLE: &str = "sandbox-helper";

/// A sandbox that is wanted. Beside it come: the plan in a file, the control socket, the three streams, and the bridge if there is one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub(super) level: Level,
}

/// Serves the socket that is its standard input, until it closes.
pub(super) fn serve() -> u8 {
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return 1 };
    let Ok(nothing) = std::fs::File::open("/dev/null") else { return 1 };
    // Sandboxes must not hold it.
    if rustix::stdio::dup2_stdin(&nothing).is_err() {
        return 1;
    }
    sys::close_on_exec_from(3);
    sys::forget_children();
    forget_groups();
    loop {
        match control::receive::<Wanted>(&socket, RecvFlags::empty()) {
            Ok(Some((wanted, fds))) => {
                if make(&wanted, fds, &socket).is_none() {
                    return 1;
                }
            }
            Ok(None) => return 0,
            Err(_) => return 1,
        }
    }
}

/// Gives up the groups of root, which would go on counting in a sandbox.
pub(super) fn forget_groups() {
    if rustix::process::geteuid().is_root() {
        let _ = rustix::thread::set_thread_groups(&[]);
    }
}

/// Makes one sandbox; `None` = whoever asked speaks another language.
fn make(wanted: &Wanted, fds: Vec<OwnedFd>, socket: &OwnedFd) -> Option<()> {
    let mut fds = fds.into_iter();
    let (plan, control) = (fds.next()?, fds.next()?);
    let streams = Streams {
        stdin: fds.next()?,
        stdout: fds.next()?,
        stderr: fds.next()?,
        bridge: fds.next(),
    };
    let made = read(plan).map_err(Fault::host("reading the plan"));
    if let Err(fault) =
        made.and_then(|plan| fork(&plan, wanted.level, &control, streams, Some(socket)))
    {
        let _ = control::send(&control, &Event::Failed(fault), &[]);
    }
    Some(())
}

/// Makes a sandbox below this process, which must have one thread only. The control socket carries the rest.
pub(super) fn fork(
    plan: &Plan,
    level: Level,
    control: &OwnedFd,
    streams: Streams,
    not_for_it: Option<&OwnedFd>,
) -> Result<(), Fault> {
    let user = User::current();
    // Known before it is forgotten who is outside.
    let place = cgroup::place_for(level);
    // Nobody inside could make it.
    let strange = (level == Level::Namespace && plan.strange).then(stranger::tree).transpose();
    let strange = strange.map_err(Fault::host("the system as a stranger sees it"))?;
    let forked = sys::fork(keeper::fork_flags(level), None);
    let forked = forked.map_err(Fault::host("a user namespace"))?;
    match forked {
        Fork::Child => {
            if let Some(fd) = not_for_it {
                // Held here, it would look as if the parent still served it.
                sys::close(fd.as_fd());
            }
            keeper::keep((plan, level, user), (place, strange), control, streams)
        }
        Fork::Parent(child) => {
            // Whoever waits may be gone already; then the keeper sees that too.
            let _ = control::send(control, &Event::Forked, &[child.pidfd.as_fd()]);
            Ok(())
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
