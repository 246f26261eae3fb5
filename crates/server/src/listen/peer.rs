//! Whoever is at the other end of a connection.

use std::net::SocketAddr;

use tokio::net::UnixStream;

use super::ancestry;

/// Whoever is at the other end of a connection; in every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over TCP.
    Tcp {
        /// Our address.
        local: SocketAddr,
        /// Theirs.
        remote: SocketAddr,
    },
    /// On the socket: a process of this machine.
    Unix {
        /// Its user.
        uid: u32,
        /// The process; `None` = the system does not say.
        pid: Option<i32>,
        /// Why nothing of it is answered.
        refused: Option<&'static str>,
    },
}

impl Peer {
    /// By what the kernel wrote down when it connected.
    pub(crate) fn of_unix(stream: &UnixStream) -> Self {
        let credentials = stream.peer_cred();
        let (uid, pid) = match &credentials {
            Ok(credentials) => (credentials.uid(), credentials.pid()),
            Err(_) => (u32::MAX, None),
        };
        let refused = if uid == rustix::process::geteuid().as_raw() {
            ancestry::refusal(pid)
        } else {
            Some("the socket is for the user that the daemon runs as")
        };
        Self::Unix { uid, pid, refused }
    }
}
