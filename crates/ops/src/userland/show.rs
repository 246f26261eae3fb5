//! Shows the userland: its state, the isolation of programs, and the disk space that it uses.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_sandbox::Backend as _;
use toolcrib_sandbox::userland::State;

use super::place::UserlandPlace;
use crate::error::OpError;

/// Maximum number of entries of a folder whose sizes are summed.
const ENTRIES: usize = 500_000;

/// The userland.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Userland")]
pub struct UserlandReply {
    /// `absent`, `downloading`, `verifying`, `unpacking`, `ready` or `broken`.
    pub state: String,
    /// The state in words, with instructions.
    pub message: String,
    /// Its release, such as `Alpine Linux 3.24.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The mirror of its packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<String>,
    /// Its folder.
    pub root: String,
    /// The home folder of programs, which stays when the userland is removed.
    pub home: String,
    /// Size of its files in bytes.
    pub root_bytes: u64,
    /// Size of the files in the home folder in bytes.
    pub home_bytes: u64,
    /// The strongest isolation that this machine provides for programs: `namespace` and others of
    /// docs/sandbox.md.
    pub level: String,
}

/// Shows the userland. The isolation level is determined by a trial.
///
/// # Errors
/// [`OpError::Internal`].
pub async fn show(place: &UserlandPlace) -> Result<UserlandReply, OpError> {
    let status = place.userland.status();
    let (root, home) = (status.root.clone(), status.home.clone());
    let measuring = move || (size_of(&root), size_of(&home));
    let sizes = tokio::task::spawn_blocking(measuring);
    let level = place.backend().probe().await.strongest;
    let sizes = sizes.await.map_err(|error| OpError::Internal(error.to_string()))?;
    let (root_bytes, home_bytes) = sizes;
    let ready = match &status.state {
        State::Ready(ready) => Some(ready),
        _ => None,
    };
    Ok(UserlandReply {
        state: status.state.word().to_owned(),
        message: status.state.message(),
        release: ready.map(|ready| format!("{} {}", ready.name, ready.version)),
        mirror: ready.and_then(|ready| ready.repositories.clone()),
        root: status.root.display().to_string(),
        home: status.home.display().to_string(),
        root_bytes,
        home_bytes,
        level: level.to_string(),
    })
}

/// Returns the size of the files in a folder, in bytes. Links are not followed, because programs in
/// the sandbox create them.
fn size_of(folder: &Path) -> u64 {
    let (mut open, mut total, mut seen) = (vec![folder.to_path_buf()], 0_u64, 0);
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > ENTRIES {
                return total;
            }
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                open.push(entry.path());
            } else if about.is_file() {
                total = total.saturating_add(about.len());
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, outer) = (folder.path().join("inner"), folder.path().join("outer"));
        std::fs::create_dir_all(inner.join("deep")).unwrap();
        std::fs::write(inner.join("deep/a"), [0; 100]).unwrap();
        std::fs::write(&outer, [0; 1_000]).unwrap();
        std::os::unix::fs::symlink(&outer, inner.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), inner.join("up")).unwrap();
        assert_eq!(size_of(&inner), 100);
        assert_eq!(size_of(&inner.join("nowhere")), 0);
    }
}
