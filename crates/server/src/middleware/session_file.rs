//! The file that keeps sessions of the page across a restart of the daemon: hashes of cookies and
//! of CSRF tokens, readable by the owner's user only.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_app::LockedFile;
use toolcrib_core::TokenHash;

use super::browser_sessions::{BrowserSession, SessionId};

/// Name of the file in the daemon's folder.
const FILE: &str = "sessions.json";

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Content {
    /// Hash of the token of this machine: deleting that token ends its sessions.
    machine: TokenHash,
    sessions: Vec<(SessionId, BrowserSession)>,
}

/// The session file of a daemon.
pub(super) struct SessionFile {
    path: PathBuf,
    machine: TokenHash,
}

impl SessionFile {
    /// Returns the file in the daemon's folder, for the sessions of this token of the machine.
    pub(super) fn in_folder(folder: &Path, machine: &str) -> Self {
        Self { path: folder.join(FILE), machine: TokenHash::from_token(machine) }
    }

    /// Reads the stored sessions. A file that cannot be read yields none; the pages then sign in
    /// again.
    pub(super) fn read(&self) -> HashMap<SessionId, BrowserSession> {
        let content = fs::read(&self.path)
            .and_then(|bytes| serde_json::from_slice::<Content>(&bytes).map_err(io::Error::from));
        match content {
            Ok(content) if content.machine == self.machine => {
                content.sessions.into_iter().collect()
            }
            Ok(_) => HashMap::new(),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, "the sessions of the page cannot be read");
                }
                HashMap::new()
            }
        }
    }

    /// Replaces the stored sessions. If writing fails, pages sign in again after a restart.
    pub(super) fn write(&self, sessions: &HashMap<SessionId, BrowserSession>) {
        let sessions = sessions.iter().map(|(id, one)| (id.clone(), one.clone())).collect();
        let content = Content { machine: self.machine.clone(), sessions };
        let written = serde_json::to_string(&content)
            .map_err(io::Error::from)
            .and_then(|text| LockedFile::wait(self.path.clone())?.replace(&text));
        if let Err(error) = written {
            tracing::warn!(%error, "the sessions of the page cannot be stored");
        }
    }
}
