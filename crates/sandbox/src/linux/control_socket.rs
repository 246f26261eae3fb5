//! Control socket between a sandbox and its creator: each message is a JSON text with file
//! descriptors.
//!
//! The sandbox lives as long as the other end: when that closes for any reason, the sandbox ends.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::job::{LimitHit, Status};

/// Maximum bytes of a message. Longer data is passed in a file.
const LONGEST: usize = 32 * 1024;
/// Maximum file descriptors per message.
const DESCRIPTORS: usize = 8;

/// Events from a sandbox.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorEvent {
    /// Its first process was created; its pidfd is attached.
    Forked,
    /// A socket inside listens for the proxy; it is attached.
    Listening,
    /// The program runs.
    Started,
    /// The sandbox could not be created, or the program could not be started.
    Failed(Fault),
    /// Everything but the program was killed: the number of processes, or `None` if they multiply
    /// too fast.
    Swept { killed: Option<u32> },
    /// The program ended, and none of its processes is left.
    Ended { status: Status, stopped: Option<LimitHit>, cpu_micros: u64 },
}

/// Orders to a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorOrder {
    /// End everything: `SIGTERM`, then `SIGKILL` after the grace period.
    End,
    /// Kill everything at once.
    Kill,
    /// Send this signal to everything.
    Signal(i32),
    /// Kill everything but the program, which is idle from now on.
    Sweep,
    /// The program is no longer idle.
    Wake,
}

/// A failure while creating a sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Fault {
    /// Its cause.
    pub(super) of: FaultSource,
    /// The failed step.
    pub(super) step: String,
    /// The system's error number; 0 if there is none.
    pub(super) errno: i32,
}

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultSource {
    /// The host does not allow it: a weaker level may work.
    Host,
    /// A path of the policy.
    Path,
    /// The program.
    Program,
}

impl Fault {
    pub(super) fn host(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        Self::new(FaultSource::Host, step)
    }

    pub(super) fn path(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        Self::new(FaultSource::Path, path.to_string_lossy())
    }

    pub(super) fn new(of: FaultSource, step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |error| Self { of, step, errno: error.raw_os_error().unwrap_or(0) }
    }

    pub(super) fn error(&self) -> io::Error {
        match self.errno {
            0 => io::Error::other("no reason was given"),
            number => io::Error::from_raw_os_error(number),
        }
    }
}

/// Creates two connected ends.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one message.
pub(super) fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    with: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(with)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(socket, &[IoSlice::new(&text)], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one message; `None` if the other end is closed.
pub(super) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
    flags: RecvFlags,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let read = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut text)], &mut beside, flags) {
            Err(rustix::io::Errno::INTR) => {}
            read => break read?,
        }
    };
    let fds = beside.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect(),
        _ => Vec::new(),
    });
    let fds = fds.collect();
    match text.get(..read.bytes) {
        None | Some([]) => Ok(None),
        Some(text) => Ok(Some((serde_json::from_slice(text)?, fds))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_their_descriptors_arrive_and_a_closed_end_is_seen() {
        let (here, there) = pair().unwrap();
        let status = Status::Signalled(9);
        let ended = SupervisorEvent::Ended { status, stopped: Some(LimitHit::Disk), cpu_micros: 7 };
        send(&here, &ended, &[here.as_fd(), there.as_fd()]).unwrap();
        let (event, fds) = receive::<SupervisorEvent>(&there, RecvFlags::empty()).unwrap().unwrap();
        assert!(matches!(event, SupervisorEvent::Ended { cpu_micros: 7, .. }), "{event:?}");
        assert_eq!(fds.len(), 2);
        drop(fds);
        send(&there, &SupervisorOrder::Signal(2), &[]).unwrap();
        let (order, _) = receive::<SupervisorOrder>(&here, RecvFlags::empty()).unwrap().unwrap();
        assert_eq!(order, SupervisorOrder::Signal(2));
        drop(here);
        assert!(receive::<SupervisorEvent>(&there, RecvFlags::empty()).unwrap().is_none());
    }
}
