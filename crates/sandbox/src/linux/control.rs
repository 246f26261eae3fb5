//! The socket between a sandbox and whoever started it: one message is one JSON text, with descriptors beside it.
//!
//! Its other end is the life of the sandbox: when it closes, however that happens, the sandbox ends.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::job::{Status, Stop};

/// Longest message in bytes. What is longer travels in a file.
const LONGEST: usize = 32 * 1024;
/// Most descriptors of one message.
const DESCRIPTORS: usize = 8;

/// What a sandbox says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// Its first process was made; a descriptor for it comes along.
    Forked,
    /// A socket inside listens for the proxy; it comes along.
    Listening,
    /// The program runs.
    Started,
    /// It could not be made, or the program could not be started.
    Failed(Fault),
    /// Everything but the program was killed, so many processes; `None` = they could not be, because they breed.
    Swept { killed: Option<u32> },
    /// The program ended, and nothing of it is left.
    Ended { status: Status, stopped: Option<Stop>, cpu_micros: u64 },
}

/// What a sandbox is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// End everything: `SIGTERM` first, `SIGKILL` a moment later.
    End,
    /// End everything at once.
    Kill,
    /// Send this signal to everything.
    Signal(i32),
    /// Kill everything but the program, which rests from now on.
    Sweep,
    /// The program does not rest any more.
    Wake,
}

/// What went wrong while a sandbox was made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fault {
    /// Whose fault it is.
    pub(super) of: Blame,
    /// What was done.
    pub(super) step: String,
    /// The number that the system gave; 0 = none.
    pub(super) errno: i32,
}

/// Whose fault it is that a sandbox was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Blame {
    /// The host does not allow it: a weaker level may work.
    Host,
    /// A path that was named.
    Path,
    /// The program.
    Program,
}

impl Fault {
    pub(super) fn host(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        Self::by(Blame::Host, step)
    }

    pub(super) fn path(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        Self::by(Blame::Path, path.to_string_lossy())
    }

    pub(super) fn by(of: Blame, step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
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

/// Two ends that are connected.
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

/// Receives one message; `None` = the other end is closed.
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
        let ended = Event::Ended { status, stopped: Some(Stop::Disk), cpu_micros: 7 };
        send(&here, &ended, &[here.as_fd(), there.as_fd()]).unwrap();
        let (event, fds) = receive::<Event>(&there, RecvFlags::empty()).unwrap().unwrap();
        assert!(matches!(event, Event::Ended { cpu_micros: 7, .. }), "{event:?}");
        assert_eq!(fds.len(), 2);
        drop(fds);
        send(&there, &Order::Signal(2), &[]).unwrap();
        let (order, _) = receive::<Order>(&here, RecvFlags::empty()).unwrap().unwrap();
        assert_eq!(order, Order::Signal(2));
        drop(here);
        assert!(receive::<Event>(&there, RecvFlags::empty()).unwrap().is_none());
    }
}
