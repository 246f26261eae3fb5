//! The files by which other commands find this person's daemon.

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

/// Returns its URL on TCP.
pub(crate) fn tcp_url(address: &DaemonAddress) -> Option<String> {
    let scheme = if address.tls { "https" } else { "http" };
    address.tcp.map(|tcp| format!("{scheme}://{tcp}"))
}

impl DaemonPaths {
    /// Returns the paths of this person's daemon.
    ///
    /// # Errors
    /// If there is no home folder.
    pub(crate) fn current() -> Result<Self, Failure> {
        Ok(Self { folder: bootstrap::state_folder()?.join("daemon") })
    }

    /// Returns the folder.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Returns the default socket.
    pub(crate) fn socket_path(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns the file with the token of this machine.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// Returns the file with the addresses of the daemon.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.folder.join("address")
    }

    /// Returns the addresses of the running daemon; `None` if none runs, or if it does not listen
    /// yet.
    ///
    /// # Errors
    /// Exit code 8 for a file that cannot be read.
    pub(crate) fn running_address(&self) -> Result<Option<DaemonAddress>, Failure> {
        DaemonAddress::read_live(&self.folder).map_err(|error| self.unreadable(&error))
    }

    /// Returns the addresses of the last daemon, which may be dead.
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
