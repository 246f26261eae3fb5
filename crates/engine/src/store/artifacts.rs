//! Artifacts in memory: for tests, and for embedders without a disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::artifact_builder::ArtifactBuilder;
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter, Clock as _, StoreError, SystemClock,
    defaults,
};

/// Maximum bytes of all owners together. New artifacts replace the oldest ones, which nothing else
/// would remove.
const KEPT: u64 = defaults::MAX_ARTIFACT_BYTES;

#[derive(Default)]
struct StoredArtifacts {
    by_ref: HashMap<ArtifactRef, (ArtifactMeta, Arc<[u8]>, u64)>,
    bytes: u64,
    /// Counter of stored artifacts, which defines their order.
    stored: u64,
}

impl StoredArtifacts {
    fn insert(&mut self, mut meta: ArtifactMeta, bytes: Vec<u8>) -> ArtifactMeta {
        // Equal bytes from a trusted source do not make bytes from outside trusted.
        if let Some(known) = self.remove(&meta.artifact) {
            meta.trust = meta.trust.max(known.trust);
        }
        self.bytes += meta.bytes;
        self.stored += 1;
        self.by_ref.insert(meta.artifact.clone(), (meta.clone(), bytes.into(), self.stored));
        while self.bytes > KEPT
            && let Some(oldest) = self.by_ref.values().min_by_key(|(_, _, order)| *order)
        {
            let oldest = oldest.0.artifact.clone();
            self.remove(&oldest);
        }
        meta
    }

    fn remove(&mut self, artifact: &ArtifactRef) -> Option<ArtifactMeta> {
        let (meta, _, _) = self.by_ref.remove(artifact)?;
        self.bytes -= meta.bytes;
        Some(meta)
    }
}

/// Artifacts in memory.
#[derive(Default)]
pub struct MemoryArtifacts {
    kept: Arc<Mutex<StoredArtifacts>>,
}

struct MemoryWriter {
    spill: ArtifactBuilder<Vec<u8>>,
    kept: Arc<Mutex<StoredArtifacts>>,
}

fn lock(kept: &Mutex<StoredArtifacts>) -> MutexGuard<'_, StoredArtifacts> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ArtifactWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.spill.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError> {
        let Self { spill, kept } = *self;
        let (meta, bytes) = spill.finish(SystemClock.now_ms());
        Ok(lock(&kept).insert(meta, bytes))
    }
}

impl MemoryArtifacts {
    fn find(&self, artifact: &ArtifactRef, owner: &str) -> Option<(ArtifactMeta, Arc<[u8]>)> {
        let kept = lock(&self.kept);
        let (meta, bytes, _) = kept.by_ref.get(artifact)?;
        (meta.owner == owner).then(|| (meta.clone(), Arc::clone(bytes)))
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        let spill = ArtifactBuilder::new(new, Vec::new());
        Ok(Box::new(MemoryWriter { spill, kept: Arc::clone(&self.kept) }))
    }

    fn meta(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        Ok(self.find(artifact, owner).map(|(meta, _)| meta))
    }

    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.find(artifact, owner).map(|(_, bytes)| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            let end = start.saturating_add(length).min(bytes.len());
            bytes.get(start..end).unwrap_or_default().to_vec()
        }))
    }

    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError> {
        let kept = lock(&self.kept);
        let mut found: Vec<_> =
            kept.by_ref.values().filter(|(meta, _, _)| meta.owner == owner).collect();
        found.sort_by_key(|(_, _, order)| std::cmp::Reverse(*order));
        Ok(found.into_iter().take(limit).map(|(meta, _, _)| meta.clone()).collect())
    }

    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError> {
        let mut kept = lock(&self.kept);
        let is_theirs = kept.by_ref.get(artifact).is_some_and(|(meta, _, _)| meta.owner == owner);
        Ok(is_theirs && kept.remove(artifact).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{CallId, Trust};

    #[test]
    fn the_oldest_make_room_for_new_ones() {
        let mut kept = StoredArtifacts::default();
        let mut add = |name: &str, bytes: u64| {
            let artifact = ArtifactRef(name.to_owned());
            let meta = ArtifactMeta {
                artifact,
                owner: String::new(),
                media_type: "text/plain".into(),
                trust: Trust::Tool,
                source: None,
                bytes,
                total_bytes: bytes,
                sha256: String::new(),
                call: CallId::fresh(),
                run: None,
                conversation: String::new(),
                created_at: 0,
                expires_at: None,
            };
            kept.insert(meta, Vec::new());
            let mut there: Vec<_> = kept.by_ref.keys().map(|name| name.0.clone()).collect();
            there.sort();
            there.concat()
        };
        assert_eq!(add("a", KEPT / 2), "a");
        assert_eq!(add("b", KEPT / 2), "ab");
        // The same again counts once, and is the newest now.
        assert_eq!(add("a", KEPT / 2), "ab");
        assert_eq!(add("c", 1), "ac");
        assert_eq!(add("d", KEPT), "d");
    }
}
