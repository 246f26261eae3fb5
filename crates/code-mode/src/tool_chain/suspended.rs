//! Suspended scripts on disk: the data with which another process continues a script that waits for
//! a person. Without its file a script runs again from its first line, and each of its calls
//! receives its recorded outcome.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, Trust, canonical_json};

use super::call_log::CallLog;
use crate::expression_level::worker::ENGINE;
use crate::worker_protocol::{PROTOCOL, RequestedCall};

/// Retention of an abandoned script.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// A suspended script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SuspendedScript {
    /// The interpreter that wrote the snapshot; no other one can read it.
    pub(super) engine: String,
    pub(super) protocol: u32,
    /// SHA-256 of the code.
    pub(super) code: String,
    pub(super) snapshot: String,
    pub(super) book: CallLog,
    /// Calls for which it waits, with their indexes in the call log.
    pub(super) open: Vec<(RequestedCall, usize)>,
    pub(super) printed: String,
    /// Its run time so far, without waiting for people.
    pub(super) spent: Duration,
    pub(super) trust: Trust,
    /// References of the stored results that it received.
    pub(super) references: BTreeSet<String>,
}

/// The folder of suspended scripts.
#[derive(Debug, Clone)]
pub(super) struct SuspendedScripts {
    folder: PathBuf,
}

impl SuspendedScripts {
    pub(super) fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn file(&self, call: CallId) -> PathBuf {
        self.folder.join(format!("{call}.json"))
    }

    /// Saves a script. The digest before it detects a damaged file.
    pub(super) fn save(&self, call: CallId, suspended: &SuspendedScript) -> io::Result<()> {
        use std::io::Write as _;
        std::fs::create_dir_all(&self.folder)?;
        self.sweep();
        let text = serde_json::to_string(suspended)?;
        // Readable by the owner only: the file contains all data that the script has read.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{}", canonical_json::sha256_text(&text))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.file(call)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Takes the script saved for this code by this build; `None` if there is no usable one.
    pub(super) fn take(&self, call: CallId, code: &str) -> Option<SuspendedScript> {
        let text = std::fs::read_to_string(self.file(call)).ok()?;
        let (digest, text) = text.split_once('\n')?;
        if canonical_json::sha256_text(text) != digest {
            return None;
        }
        let suspended: SuspendedScript = serde_json::from_str(text).ok()?;
        let fits = suspended.engine == ENGINE
            && suspended.protocol == PROTOCOL
            && suspended.code == canonical_json::sha256_text(code);
        fits.then_some(suspended)
    }

    /// Removes the file of a script.
    pub(super) fn forget(&self, call: CallId) {
        // There may be no file.
        let _ = std::fs::remove_file(self.file(call));
    }

    /// Removes old files. Files that cannot be removed are retried later.
    fn sweep(&self) {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for file in files.flatten() {
            let changed = file.metadata().and_then(|meta| meta.modified());
            let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
            if age.is_some_and(|age| age > RETENTION) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}
