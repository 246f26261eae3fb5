//! Whoever is at the other end of a connection.

use std::net::SocketAddr;

use tokio::net::UnixStream;

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
    },
}

impl Peer {
    pub(crate) fn of_unix(stream: &UnixStream) -> Self {
        match stream.peer_cred() {
            Ok(credentials) => Self::Unix { uid: credentials.uid(), pid: credentials.pid() },
            // Nobody's: it gets no rights.
            Err(_) => Self::Unix { uid: u32::MAX, pid: None },
        }
    }
}
