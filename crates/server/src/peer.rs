//! The peer of a connection.

use std::net::SocketAddr;

use tokio::net::UnixStream;

use crate::peer_process;

/// The peer of a connection; in the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over TCP.
    Tcp {
        /// The address of the daemon.
        local: SocketAddr,
        /// The address of the peer.
        remote: SocketAddr,
    },
    /// On the unix socket: a process of this machine.
    Unix {
        /// Its user id.
        uid: u32,
        /// Its process id; `None` = the system does not report it.
        pid: Option<i32>,
        /// Why its requests are refused.
        refused: Option<&'static str>,
    },
}

impl Peer {
    /// The process, by the credentials that the kernel recorded when it connected.
    pub(crate) fn from_unix(stream: &UnixStream) -> Self {
        let credentials = stream.peer_cred();
        let (uid, pid) = match &credentials {
            Ok(credentials) => (credentials.uid(), credentials.pid()),
            Err(_) => (u32::MAX, None),
        };
        let refused = if uid == rustix::process::geteuid().as_raw() {
            peer_process::refuse_tool_process(pid)
        } else {
            Some("the socket is only for the user that the daemon runs as")
        };
        Self::Unix { uid, pid, refused }
    }
}
