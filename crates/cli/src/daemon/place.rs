//! Where the daemon of this person keeps what others find it by.

use std::path::PathBuf;

use rustix::process::{Pid, test_kill_process};
use toolcrib_server::Address;

use super::client::unreachable;
use crate::output::Failure;
use crate::world;

/// The folder of the daemon: one per state folder.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
}

/// Its URL on TCP.
pub(crate) fn url(address: &Address) -> Option<String> {
    let scheme = if address.tls { "https" } else { "http" };
    address.tcp.map(|tcp| format!("{scheme}://{tcp}"))
}

/// Whether its process is there. Another one may have its number by now.
pub(crate) fn is_alive(address: &Address) -> bool {
    let pid = i32::try_from(address.pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok()) && !is_over(address.pid)
}

/// Whether a process has ended, and only nobody has asked how: its parent may never do.
fn is_over(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state is in brackets, and may hold any (`proc_pid_stat(5)`).
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

impl Place {
    /// That of this person.
    ///
    /// # Errors
    /// When there is no home.
    pub(crate) fn own() -> Result<Self, Failure> {
        Ok(Self { folder: world::state_folder()?.join("daemon") })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// The socket, where nobody has named another.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The file with the token of this machine.
    pub(crate) fn token(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The file that says where the daemon listens.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.folder.join("address")
    }

    /// Where the daemon listens; `None` = none has said so.
    ///
    /// # Errors
    /// Exit code 8 for a file that cannot be read.
    pub(crate) fn address(&self) -> Result<Option<Address>, Failure> {
        Address::read(&self.folder).map_err(|error| {
            let path = self.address_file();
            unreachable(&format!("{} cannot be read: {error}", path.display()))
        })
    }
}
