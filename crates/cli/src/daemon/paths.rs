//! Where the daemon of this person keeps what others find it by.

use std::path::PathBuf;

use toolcrib_server::DaemonAddress;

use super::client::unreachable;
use crate::bootstrap;
use crate::output::Failure;

/// The folder of the daemon: one per state folder.
#[derive(Debug, Clone)]
pub(crate) struct DaemonPaths {
    folder: PathBuf,
}

/// Its URL on TCP.
pub(crate) fn tcp_url(address: &DaemonAddress) -> Option<String> {
    let scheme = if address.tls { "https" } else { "http" };
    address.tcp.map(|tcp| format!("{scheme}://{tcp}"))
}

impl DaemonPaths {
    /// That of this person.
    ///
    /// # Errors
    /// When there is no home.
    pub(crate) fn current() -> Result<Self, Failure> {
        Ok(Self { folder: bootstrap::state_folder()?.join("daemon") })
    }

    /// The folder.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.clone()
    }

    /// The default socket.
    pub(crate) fn socket_path(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The file with the token of this machine.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The file that says where the daemon listens.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.folder.join("address")
    }

    /// Where the daemon is that works now; `None` = none does, or it has not said yet where it
    /// listens.
    ///
    /// # Errors
    /// Exit code 8 for a file that cannot be read.
    pub(crate) fn running_address(&self) -> Result<Option<DaemonAddress>, Failure> {
        DaemonAddress::read_live(&self.folder).map_err(|error| self.unreadable(&error))
    }

    /// What the last daemon has said; it may be dead.
    ///
    /// # Errors
    /// Exit code 8 for a file that cannot be read.
    pub(crate) fn last_address(&self) -> Result<Option<DaemonAddress>, Failure> {
        DaemonAddress::read(&self.folder).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        let path = self.address_file();
        unreachable(&format!("{} cannot be read: {error}", path.display()))
    }
}
