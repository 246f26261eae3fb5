//! Builds an artifact from a byte stream: capped, counted and named by its content.

use std::io;

use sha2::{Digest as _, Sha256};

use crate::artifact::{ArtifactMeta, ArtifactRef, NewArtifact};
use crate::store::StoreError;
use crate::{canonical_json, defaults};

/// Writes the bytes of one artifact up to [`defaults::MAX_ARTIFACT_BYTES`] and counts the rest.
pub struct ArtifactBuilder<W> {
    new: NewArtifact,
    hasher: Sha256,
    kept: u64,
    total: u64,
    to: W,
}

impl<W: io::Write> ArtifactBuilder<W> {
    /// Creates an empty artifact whose bytes are written to `to`.
    #[must_use]
    pub fn new(new: NewArtifact, to: W) -> Self {
        let hasher = of_owner(&new.owner);
        Self { new, hasher, kept: 0, total: 0, to }
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let room = defaults::MAX_ARTIFACT_BYTES.saturating_sub(self.kept);
        let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let kept = bytes.get(..take).unwrap_or(bytes);
        self.to.write_all(kept).map_err(store_error)?;
        self.hasher.update(kept);
        self.kept += kept.len() as u64;
        self.total += bytes.len() as u64;
        Ok(())
    }

    /// Returns the metadata of the artifact as of `now_ms` (Unix time in milliseconds), without an
    /// expiry, and the writer.
    #[must_use]
    pub fn finish(self, now_ms: i64) -> (ArtifactMeta, W) {
        let sha256 = canonical_json::hex(&self.hasher.finalize());
        let artifact = ArtifactRef(format!("art_{}", sha256.get(..32).unwrap_or(&sha256)));
        let meta = ArtifactMeta {
            artifact,
            owner: self.new.owner,
            media_type: self.new.media_type,
            trust: self.new.trust,
            source: self.new.source,
            bytes: self.kept,
            total_bytes: self.total,
            sha256,
            call: self.new.call,
            run: self.new.run,
            conversation: self.new.conversation,
            created_at: now_ms,
            expires_at: None,
        };
        (meta, self.to)
    }
}

fn of_owner(owner: &str) -> Sha256 {
    Sha256::new().chain_update(owner.as_bytes()).chain_update([0])
}

/// Returns whether the artifact was built from exactly these bytes.
#[must_use]
pub fn matches_hash(meta: &ArtifactMeta, bytes: &[u8]) -> bool {
    canonical_json::hex(&of_owner(&meta.owner).chain_update(bytes).finalize()) == meta.sha256
}

/// Converts an I/O error of an artifact file.
#[must_use]
pub fn store_error(error: io::Error) -> StoreError {
    let words = format!("artifacts: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(words),
        _ => StoreError::Failed(words),
    }
}
