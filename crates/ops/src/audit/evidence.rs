//! Reads the evidence against which the audit is verified: trusted keys and anchors.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_app::ANCHORS_FILE;
use toolcrib_audit::{AnchorFile, Evidence, Start, TrustedKeys};

use crate::error::OpError;

/// The places of the evidence.
#[derive(Debug, Clone, Default)]
pub struct EvidenceRequest {
    /// The audit folder of this machine, whose keys are trusted unless `key_file` is set.
    pub key_folder: Option<PathBuf>,
    /// A file with public keys.
    pub key_file: Option<PathBuf>,
    /// Public keys to trust besides, 64 hexadecimal digits each.
    pub more_keys: Vec<String>,
    /// The anchor file.
    pub anchor_file: Option<PathBuf>,
}

impl EvidenceRequest {
    /// Creates the request for the keys in an audit folder, and its anchors if there are any.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        let anchors = folder.join(ANCHORS_FILE);
        Self {
            key_folder: Some(folder.to_owned()),
            anchor_file: anchors.exists().then_some(anchors),
            ..Self::default()
        }
    }

    /// Reads the evidence. Read it before the records: a record that is appended meanwhile would
    /// otherwise be ahead of the anchors.
    ///
    /// # Errors
    /// [`OpError::Unreadable`] for a file, [`OpError::Invalid`] for one of `more_keys`.
    pub fn read(&self) -> Result<FoundEvidence, OpError> {
        let unreadable = |error: &dyn std::fmt::Display| OpError::Unreadable(error.to_string());
        let keys = match (&self.key_file, &self.key_folder) {
            (Some(file), _) => TrustedKeys::read(file).map(Some),
            (None, Some(folder)) => TrustedKeys::in_folder(folder),
            (None, None) => Ok(None),
        };
        let mut keys = keys.map_err(|error| unreadable(&error))?;
        if !self.more_keys.is_empty() {
            let all = keys.unwrap_or_default().and(&self.more_keys.join("\n"));
            keys =
                Some(all.map_err(|error| {
                    OpError::Invalid(format!("`keys` cannot be used: {error}"))
                })?);
        }
        let anchors = self.anchor_file.as_ref().map(|path| {
            AnchorFile::read(path).map_err(|error| {
                unreadable(&format_args!("cannot read the anchors {}: {error}", path.display()))
            })
        });
        Ok(FoundEvidence { keys, anchors: anchors.transpose()? })
    }
}

/// The evidence that there is.
#[derive(Debug, Clone, Default)]
pub struct FoundEvidence {
    /// The trusted keys; `None` if there are none.
    pub keys: Option<TrustedKeys>,
    /// The anchors; `None` if there is no anchor file.
    pub anchors: Option<AnchorFile>,
}

impl FoundEvidence {
    /// Returns whether the anchors show that records were signed.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchors.as_ref().is_some_and(|anchors| !anchors.checkpoints.is_empty())
    }
}

impl From<FoundEvidence> for Evidence {
    fn from(found: FoundEvidence) -> Self {
        let keys = found.keys.unwrap_or_default();
        Self { keys, anchors: found.anchors, start: Start::Genesis }
    }
}

/// The evidence against which records were verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceSummary {
    /// Number of trusted public keys.
    pub keys: usize,
    /// Number of anchors that the records were compared with; null if there was no anchor file, so
    /// that records that were cut off are not detected.
    pub anchors: Option<usize>,
}

impl From<&Evidence> for EvidenceSummary {
    fn from(evidence: &Evidence) -> Self {
        let anchors = evidence.anchors.as_ref().map(|anchors| anchors.checkpoints.len());
        Self { keys: evidence.keys.count(), anchors }
    }
}
