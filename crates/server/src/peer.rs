//! The peer of a connection.

use std::net::SocketAddr;

use tokio::net::UnixStream;

use crate::peer_process;

/// The peer of a connection; part of the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A TCP connection.
    Tcp {
        /// The address of the daemon.
        local: SocketAddr,
        /// The address of the peer.
        remote: SocketAddr,
    },
    /// A connection on the unix socket, from a process of this machine.
    Unix {
        /// User id of the process.
        uid: u32,
        /// Process id; `None` if the system does not report it.
        pid: Option<i32>,
        /// Reason for refusing its requests.
        refused: Option<&'static str>,
    },
}

impl Peer {
    /// Identifies the process by the credentials that the kernel recorded when it connected.
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
