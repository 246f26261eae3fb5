//! Artifacts in a shared database: each process can read the artifacts of all others.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::artifact_builder::{self, ArtifactBuilder, store_error};
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter, Clock, StoreError, SystemClock,
};

use super::PostgresStore;
use super::tables::artifacts::PART_BYTES;
use crate::artifacts::ArtifactLimits;

/// Attempts to store an artifact while other processes remove artifacts of the same content.
const ATTEMPTS: usize = 3;
/// Parts that one read fetches, which bounds the memory of a connection.
const PARTS_AT_ONCE: i32 = 4;

/// An [`ArtifactStore`] in a Postgres database: metadata in rows, content in parts of 1 MiB. Clones
/// are the same store.
///
/// An artifact that is being written is in an unnamed temporary file on this machine, which the
/// system removes with the process. Methods block for several round trips to the server; on a
/// worker thread of a multi-threaded Tokio runtime, they hand its other tasks to another thread
/// meanwhile.
#[derive(Clone)]
pub struct SharedArtifacts {
    store: PostgresStore,
    folder: Arc<Path>,
    limits: ArtifactLimits,
    clock: Arc<dyn Clock>,
}

impl SharedArtifacts {
    /// Creates an artifact store in the database of this store. `folder` is for artifacts that are
    /// being written. Expired artifacts and remains of dead processes are removed in the
    /// background.
    #[must_use]
    pub fn new(store: PostgresStore, folder: PathBuf, limits: ArtifactLimits) -> Self {
        let this = Self { store, folder: folder.into(), limits, clock: Arc::new(SystemClock) };
        // The job is queued when the future is created; errors surface when an artifact is used.
        drop(this.store.collect_artifacts(this.clock.now_ms()));
        this
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Stores the content of a finished artifact, then its row.
    async fn keep(&self, meta: ArtifactMeta, mut file: File) -> Result<ArtifactMeta, StoreError> {
        for _ in 0..ATTEMPTS {
            self.put_parts(&meta, &mut file).await?;
            if let Some(kept) = self.store.put_artifact(meta.clone(), self.limits).await? {
                return Ok(kept);
            }
        }
        let why = format!("{} was removed again and again while it was stored", meta.artifact);
        Err(StoreError::Busy(why))
    }

    async fn put_parts(&self, meta: &ArtifactMeta, file: &mut File) -> Result<(), StoreError> {
        file.rewind().map_err(store_error)?;
        for part in 0..parts(meta.bytes) {
            let mut content = Vec::new();
            let take = file.by_ref().take(PART_BYTES as u64).read_to_end(&mut content);
            take.map_err(store_error)?;
            self.store.put_artifact_part(&meta.artifact, part, content).await?;
        }
        Ok(())
    }

    /// Returns the bytes of a range that ends within the artifact.
    async fn bytes(
        &self,
        meta: &ArtifactMeta,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let damaged = |how: &str| {
            StoreError::Failed(format!("the artifact {} is damaged: {how}", meta.artifact))
        };
        let mut bytes = Vec::new();
        if length > 0 {
            let (first, end) = (part_at(offset), part_at(offset + length - 1) + 1);
            for from in (first..end).step_by(PARTS_AT_ONCE.unsigned_abs() as usize) {
                let last = from.saturating_add(PARTS_AT_ONCE).min(end) - 1;
                let found = self.store.artifact_parts(&meta.artifact, from, last).await?;
                bytes.extend(found.into_iter().flatten());
            }
            let skipped = usize::try_from(offset % PART_BYTES as u64).unwrap_or(usize::MAX);
            bytes.drain(..skipped.min(bytes.len()));
            bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        if bytes.len() as u64 != length {
            return Err(damaged("a part is missing"));
        }
        if length == meta.bytes && !artifact_builder::matches_hash(meta, &bytes) {
            return Err(damaged("its bytes are not those that were stored"));
        }
        Ok(bytes)
    }

    async fn read_range(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(meta) = self.store.artifact(artifact, owner).await? else { return Ok(None) };
        let length = meta.bytes.saturating_sub(offset).min(length as u64);
        match self.bytes(&meta, offset, length).await {
            Ok(bytes) => Ok(Some(bytes)),
            // The artifact may have been removed in between.
            Err(error) => {
                self.store.artifact(artifact, owner).await?.map_or(Ok(None), |_| Err(error))
            }
        }
    }
}

impl ArtifactStore for SharedArtifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        crate::artifacts::create_private_folder(&self.folder).map_err(store_error)?;
        let file = tempfile::tempfile_in(&self.folder).map_err(store_error)?;
        Ok(Box::new(SharedWriter {
            builder: ArtifactBuilder::new(new, file),
            artifacts: self.clone(),
        }))
    }

    fn meta(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        wait(self.store.artifact(artifact, owner))
    }

    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        wait(self.read_range(artifact, owner, offset, length))
    }

    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError> {
        wait(self.store.artifacts_of(owner, limit))
    }

    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError> {
        wait(self.store.remove_artifact(artifact, owner))
    }
}

struct SharedWriter {
    builder: ArtifactBuilder<File>,
    artifacts: SharedArtifacts,
}

impl ArtifactWriter for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.builder.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError> {
        let Self { builder, artifacts } = *self;
        let now = artifacts.clock.now_ms();
        let (mut meta, file) = builder.finish(now);
        meta.expires_at = Some(artifacts.limits.expiry(now));
        wait(artifacts.keep(meta, file))
    }
}

/// Returns the number of parts of an artifact.
fn parts(bytes: u64) -> i32 {
    part_at(bytes + PART_BYTES as u64 - 1)
}

/// Returns the part that contains a byte. An artifact has at most 256 parts.
fn part_at(offset: u64) -> i32 {
    i32::try_from(offset / PART_BYTES as u64).unwrap_or(i32::MAX)
}

/// Waits for a future of the store, whose I/O runs on the store's own thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let blocks = || futures_executor::block_on(future);
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(blocks),
        _ => blocks(),
    }
}
