//! Stored results, passed by reference.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, RunId};
use crate::output::Trust;
use crate::store::StoreError;

/// Names an artifact: `art_` and the first 32 hexadecimal digits of the SHA-256 of owner and content, so equal content has one name per owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactRef(pub String);

impl fmt::Display for ArtifactRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ArtifactRef {
    /// Whether the text has the form of a reference, so that it can be used in a file name.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        self.0.strip_prefix("art_").is_some_and(|hex| {
            hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        })
    }
}

/// What is known of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactMeta {
    /// Its name.
    pub artifact: ArtifactRef,
    /// Whose it is; only the owner reads it.
    pub owner: String,
    /// Media type.
    pub media_type: String,
    /// Whose words these are.
    pub trust: Trust,
    /// Where they come from.
    pub source: Option<String>,
    /// Bytes kept.
    pub bytes: u64,
    /// Bytes that the tool produced; more than `bytes` when the cap was reached.
    pub total_bytes: u64,
    /// SHA-256 of the owner, a zero byte and the bytes kept.
    pub sha256: String,
    /// Call that made it.
    pub call: CallId,
    /// Run that made it; the newest, when several made the same.
    pub run: Option<RunId>,
    /// Conversation that it was made in; empty = in none.
    #[serde(default)]
    pub conversation: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it may be removed, milliseconds since 1970, unless a run that made it still goes on or waits; `None` = never.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// What a new artifact is made with.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// Whose it is.
    pub owner: String,
    /// Media type.
    pub media_type: String,
    /// Whose words these are.
    pub trust: Trust,
    /// Where they come from.
    pub source: Option<String>,
    /// Call that makes it.
    pub call: CallId,
    /// Run that makes it.
    pub run: Option<RunId>,
    /// Conversation that it is made in; empty = in none.
    pub conversation: String,
}

/// Takes the bytes of one artifact. Dropping it without [`ArtifactWriter::finish`] leaves nothing behind.
pub trait ArtifactWriter: Send {
    /// Adds bytes. Beyond the cap they are counted and dropped.
    ///
    /// # Errors
    /// [`StoreError`] when the bytes cannot be kept.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Ends the artifact and names it. It is known when this returns.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be kept; [`StoreError::Full`] when its owner, or its run, has more than is kept for one.
    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError>;
}

/// Where artifacts live. Calls block for the time of a local disk; callers on an async thread keep them small or move them away.
pub trait ArtifactStore: Send + Sync {
    /// Begins an artifact.
    ///
    /// # Errors
    /// [`StoreError`] when nothing can be stored now.
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError>;

    /// What is known of an artifact of this owner; `None` = there is none, or it is somebody else's.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    fn meta(&self, artifact: &ArtifactRef, owner: &str)
    -> Result<Option<ArtifactMeta>, StoreError>;

    /// Up to `length` bytes from `offset`; `None` as for [`ArtifactStore::meta`].
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read, or the artifact is damaged: then it names it.
    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// What is known of the artifacts of an owner, the newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError>;

    /// Removes an artifact of this owner, whatever still refers to it; `false` = there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be removed.
    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError>;
}
