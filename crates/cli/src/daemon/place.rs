//! Where the daemon of this person keeps what others find it by.

use std::path::PathBuf;

use crate::output::Failure;
use crate::world;

/// The folder of the daemon: one per state folder.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
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
}
