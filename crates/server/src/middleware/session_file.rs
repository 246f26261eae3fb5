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
    /// Hash of the token of this machine: deleting that token ends the sessions made of it.
    machine: TokenHash,
    sessions: Vec<(SessionId, BrowserSession)>,
}

/// The file of a daemon.
pub(super) struct SessionFile {
    path: PathBuf,
    machine: TokenHash,
}

impl SessionFile {
    /// The file in the daemon's folder, for sessions made while this is the token of the machine.
    pub(super) fn in_folder(folder: &Path, machine: &str) -> Self {
        Self { path: folder.join(FILE), machine: TokenHash::from_token(machine) }
    }

    /// The sessions that it keeps. A file that cannot be read keeps none: their pages sign in
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

    /// Replaces what it keeps. Without it, pages sign in again after a restart.
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
