//! Artifacts: stored results that are passed by reference.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, RunId};
use crate::store::StoreError;
use crate::trust::Trust;

/// Reference of an artifact: `art_` and the first 32 hexadecimal digits of the SHA-256 of owner and
/// content, so that equal content has one name per owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactRef(pub String);

impl fmt::Display for ArtifactRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ArtifactRef {
    /// Returns whether the text has the form of a reference and is therefore safe in a file name.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        self.0.strip_prefix("art_").is_some_and(|hex| {
            hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        })
    }
}

/// Metadata of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactMeta {
    /// Reference.
    pub artifact: ArtifactRef,
    /// The only person who can read the artifact.
    pub owner: String,
    /// Media type.
    pub media_type: String,
    /// Trust level of the content.
    pub trust: Trust,
    /// Source of the content: a path or an address.
    pub source: Option<String>,
    /// Stored bytes.
    pub bytes: u64,
    /// Bytes that the tool produced; more than `bytes` if the cap was reached.
    pub total_bytes: u64,
    /// SHA-256 of the owner, a zero byte and the stored bytes.
    pub sha256: String,
    /// Call that created it.
    pub call: CallId,
    /// Run that created it; the newest if several created the same content.
    pub run: Option<RunId>,
    /// Conversation in which it was created; empty if none.
    #[serde(default)]
    pub conversation: String,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Expiry, Unix time in milliseconds; `None` means never. While a run that created it has not
    /// ended, the artifact is stored longer.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// Parameters of a new artifact.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// Owner.
    pub owner: String,
    /// Media type.
    pub media_type: String,
    /// Trust level of the content.
    pub trust: Trust,
    /// Source of the content: a path or an address.
    pub source: Option<String>,
    /// Call that creates it.
    pub call: CallId,
    /// Run that creates it.
    pub run: Option<RunId>,
    /// Conversation in which it is created; empty if none.
    pub conversation: String,
}

/// Writes the bytes of one artifact. Dropping it without [`ArtifactWriter::finish`] discards them.
pub trait ArtifactWriter: Send {
    /// Adds bytes. Bytes beyond the cap are counted and dropped.
    ///
    /// # Errors
    /// [`StoreError`] if the bytes cannot be stored.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Completes the artifact and names it. It can be read when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be stored; [`StoreError::Full`] if it exceeds the quota of its
    /// owner or its run.
    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError>;
}

/// Storage of artifacts. Calls block for the time of local disk access; async callers keep them
/// small or use a blocking thread.
pub trait ArtifactStore: Send + Sync {
    /// Begins an artifact.
    ///
    /// # Errors
    /// [`StoreError`] if nothing can be stored now.
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError>;

    /// Returns the metadata of an artifact of this owner; `None` if it does not exist or belongs to
    /// another owner.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    fn meta(&self, artifact: &ArtifactRef, owner: &str)
    -> Result<Option<ArtifactMeta>, StoreError>;

    /// Returns up to `length` bytes from `offset`; `None` as for [`ArtifactStore::meta`].
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read, or if the artifact is damaged; the error then
    /// names it.
    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the metadata of an owner's artifacts, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError>;

    /// Deletes an artifact of this owner, even if it is still referenced; `false` if it does not
    /// exist.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be deleted.
    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError>;
}
