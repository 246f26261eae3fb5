//! Artifacts: files named by the hash of their content, with a row for each.
//!
//! A file gets its name, and is removed, only under the database's write lock, so a transaction
//! that reads a row knows whether the file exists. The file is created before its row, and the row
//! before the outcome that refers to it.

mod garbage_collection;
mod quota;

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::artifact_builder::{self, ArtifactBuilder};
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter, Clock, StoreError, SystemClock,
};

use self::garbage_collection::GarbageCollector;
pub use self::quota::ArtifactLimits;
pub(crate) use self::quota::over_quota;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::tables::artifacts as rows;
use crate::writer::Durability;

/// Name prefix of files that are still being written.
const PARTIAL: &str = "partial-";

/// An [`ArtifactStore`] with files in a folder and rows in a database. Several processes may use
/// both at once. Clones are the same store.
///
/// Equal content of one owner is stored once. Stored content survives the death of the process.
/// Methods block for the time of a local disk access and, when writing, of a commit.
#[derive(Clone)]
pub struct Artifacts {
    /// Dropped first: the collector thread must not keep the store open after the last handle.
    _sweeper: Option<Arc<GarbageCollector>>,
    store: SqliteStore,
    files: Files,
    clock: Arc<dyn Clock>,
}

/// File operations that run under the write lock. Contains no store: otherwise the writer thread
/// could drop the last handle of its own store.
#[derive(Clone)]
struct Files {
    folder: Arc<Path>,
    limits: ArtifactLimits,
}

impl Artifacts {
    /// Creates a store of artifacts in this folder, which is created when the first one is stored.
    /// Use one folder per database: files without a row are removed.
    #[must_use]
    pub fn new(store: SqliteStore, folder: PathBuf, limits: ArtifactLimits) -> Self {
        let files = Files { folder: folder.into(), limits };
        Self { _sweeper: None, store, files, clock: Arc::new(SystemClock) }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Removes expired artifacts.
    fn expire(&self) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        if self.store.read_now(move |conn| rows::any_expired(conn, now))? {
            let gone = self
                .store
                .write_now(Durability::ProcessCrash, move |conn| rows::expire(conn, now))?;
            self.unlink(gone)?;
        }
        Ok(())
    }

    /// Removes files that have no row.
    fn unlink(&self, files: Vec<ArtifactRef>) -> Result<(), StoreError> {
        let there = self.files.clone();
        self.store.write_now(Durability::ProcessCrash, move |conn| {
            for artifact in files {
                if rows::trust(conn, &artifact)?.is_none() {
                    // The next garbage collection finds a file that cannot be removed now.
                    let _ = fs::remove_file(there.path(&artifact));
                }
            }
            Ok(())
        })
    }
}

impl Files {
    fn path(&self, artifact: &ArtifactRef) -> PathBuf {
        self.folder.join(&artifact.0)
    }

    fn bytes(
        &self,
        meta: &ArtifactMeta,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, StoreError> {
        let damaged = |how: String| {
            StoreError::Failed(format!("the artifact {} is damaged: {how}", meta.artifact))
        };
        let mut file = match File::open(self.path(&meta.artifact)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("its file is gone".to_owned()));
            }
            opened => opened.map_err(artifact_builder::store_error)?,
        };
        let there = file.metadata().map_err(artifact_builder::store_error)?.len();
        if there != meta.bytes {
            return Err(damaged(format!("its file has {there} bytes, not {}", meta.bytes)));
        }
        if offset >= meta.bytes && offset > 0 {
            return Ok(Vec::new());
        }
        file.seek(SeekFrom::Start(offset)).map_err(artifact_builder::store_error)?;
        let mut bytes = Vec::new();
        file.take(length as u64).read_to_end(&mut bytes).map_err(artifact_builder::store_error)?;
        if bytes.len() as u64 == meta.bytes && !artifact_builder::matches_hash(meta, &bytes) {
            return Err(damaged("its bytes are not those that were stored".to_owned()));
        }
        Ok(bytes)
    }

    /// Renames a file to its final name and adds its row. An exhausted quota is a refusal, not a
    /// disk failure.
    fn keep(
        &self,
        conn: &Connection,
        mut meta: ArtifactMeta,
        partial: &Partial,
    ) -> Result<Result<ArtifactMeta, StoreError>, Failure> {
        if let Some(full) = self.refusal(conn, &meta)? {
            return Ok(Err(full));
        }
        // The same bytes from a trusted source do not make untrusted content trusted.
        if let Some(known) = rows::trust(conn, &meta.artifact)? {
            meta.trust = meta.trust.max(known);
        }
        fs::rename(&partial.0, self.path(&meta.artifact)).map_err(artifact_builder::store_error)?;
        rows::put(conn, &meta)?;
        Ok(Ok(meta))
    }

    fn refusal(
        &self,
        conn: &Connection,
        meta: &ArtifactMeta,
    ) -> Result<Option<StoreError>, Failure> {
        if let Some(run) = meta.run {
            let used = rows::bytes_of_run(conn, run, &meta.artifact)?;
            if let Some(full) = over_quota("the run", used, meta.bytes, self.limits.run_bytes) {
                return Ok(Some(full));
            }
        }
        let used = rows::bytes_of_owner(conn, &meta.owner, &meta.artifact)?;
        Ok(over_quota("the owner", used, meta.bytes, self.limits.owner_bytes))
    }
}

impl ArtifactStore for Artifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        create_private_folder(&self.files.folder).map_err(artifact_builder::store_error)?;
        let random: [u64; 2] = std::array::from_fn(|_| random());
        let path = self.files.folder.join(format!("{PARTIAL}{:016x}{:016x}", random[0], random[1]));
        let file = create_private_file(&path).map_err(artifact_builder::store_error)?;
        let partial = Partial(path);
        // The lock tells the garbage collection that a writer is alive. Without file locks no
        // partial file is ever collected.
        let _ = file.try_lock();
        Ok(Box::new(FileWriter {
            spill: ArtifactBuilder::new(new, file),
            partial,
            artifacts: self.clone(),
        }))
    }

    fn meta(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        let (artifact, owner) = (artifact.clone(), owner.to_owned());
        self.store.read_now(move |conn| rows::get(conn, &artifact, &owner))
    }

    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        // A path-like reference has no row, so it never opens a file.
        let Some(meta) = self.meta(artifact, owner)? else { return Ok(None) };
        match self.files.bytes(&meta, offset, length) {
            Ok(bytes) => Ok(Some(bytes)),
            // The artifact may have been removed in between.
            Err(error) => self.meta(artifact, owner)?.map_or(Ok(None), |_| Err(error)),
        }
    }

    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError> {
        let owner = owner.to_owned();
        self.store.read_now(move |conn| rows::list_of_owner(conn, &owner, limit))
    }

    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError> {
        let (row, owner) = (artifact.clone(), owner.to_owned());
        let was_there = self.store.write_now(Durability::ProcessCrash, move |conn| {
            rows::remove(conn, &row, Some(&owner))
        })?;
        if was_there {
            self.unlink(vec![artifact.clone()])?;
        }
        Ok(was_there)
    }
}

/// Returns 64 random bits for the name of a partial file.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::time::SystemTime::now())
}

pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// A partial file, removed on drop.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // Fails harmlessly once the file has its final name.
        let _ = fs::remove_file(&self.0);
    }
}

struct FileWriter {
    spill: ArtifactBuilder<File>,
    partial: Partial,
    artifacts: Artifacts,
}

impl ArtifactWriter for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.spill.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError> {
        let Self { spill, partial, artifacts } = *self;
        let now = artifacts.clock.now_ms();
        let (mut meta, file) = spill.finish(now);
        meta.expires_at = Some(artifacts.files.limits.expiry(now));
        // Also frees space when a quota is exhausted.
        artifacts.expire()?;
        let files = artifacts.files.clone();
        let (kept, partial) = artifacts.store.write_now(Durability::ProcessCrash, move |conn| {
            let kept = files.keep(conn, meta, &partial)?;
            Ok((kept, partial))
        })?;
        drop((file, partial));
        kept
    }
}
