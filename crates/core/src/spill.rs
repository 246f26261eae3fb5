//! How an artifact is made from bytes that arrive one after another: capped, counted, named by what it holds.

use std::io;

use sha2::{Digest as _, Sha256};

use crate::artifact::{ArtifactMeta, ArtifactRef, NewArtifact};
use crate::store::StoreError;
use crate::{canonical, defaults};

/// Takes the bytes of one artifact up to the cap of [`defaults::SPILL_BYTES`] and counts the rest.
pub struct Spill<W> {
    new: NewArtifact,
    hasher: Sha256,
    kept: u64,
    total: u64,
    to: W,
}

impl<W: io::Write> Spill<W> {
    /// Nothing yet; bytes go to `to`.
    #[must_use]
    pub fn new(new: NewArtifact, to: W) -> Self {
        let hasher = of_owner(&new.owner);
        Self { new, hasher, kept: 0, total: 0, to }
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let room = defaults::SPILL_BYTES.saturating_sub(self.kept);
        let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let kept = bytes.get(..take).unwrap_or(bytes);
        self.to.write_all(kept).map_err(failed)?;
        self.hasher.update(kept);
        self.kept += kept.len() as u64;
        self.total += bytes.len() as u64;
        Ok(())
    }

    /// What was made now (milliseconds since 1970), without an end, and where its bytes went.
    #[must_use]
    pub fn finish(self, now_ms: i64) -> (ArtifactMeta, W) {
        let sha256 = canonical::hex(&self.hasher.finalize());
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

/// Whether these are the bytes that the artifact was made of.
#[must_use]
pub fn is_whole(meta: &ArtifactMeta, bytes: &[u8]) -> bool {
    canonical::hex(&of_owner(&meta.owner).chain_update(bytes).finalize()) == meta.sha256
}

/// What the system said of a file of artifacts.
#[must_use]
pub fn failed(error: io::Error) -> StoreError {
    let words = format!("artifacts: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(words),
        _ => StoreError::Failed(words),
    }
}
