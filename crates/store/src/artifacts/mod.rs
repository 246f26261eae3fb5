//! Artifacts: files that are named by what they hold, with a row for each.
//!
//! A file appears under its name, and goes, only while the database's write lock is in hand: whoever looks at a row inside a transaction knows
//! whether the file is there. The file comes before its row, and the row before the outcome that refers to it.

mod sweep;

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::spill::{self, Spill};
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter, Clock, StoreError, SystemClock,
    defaults,
};

use self::sweep::Sweeper;
use crate::error::Failure;
use crate::rows::artifacts as rows;
use crate::store::SqliteStore;
use crate::writer::Survives;

/// What files begin with that are not finished.
const PARTIAL: &str = "partial-";

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes of one owner.
    pub owner_bytes: u64,
    /// Bytes that one run made.
    pub run_bytes: u64,
    /// How long an artifact is kept after it was made; longer while a run that made it goes on or waits (SPEC 4.5, pinned).
    pub ttl: Duration,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self {
            owner_bytes: defaults::ARTIFACT_OWNER_BYTES,
            run_bytes: defaults::ARTIFACT_RUN_BYTES,
            ttl: defaults::ARTIFACT_TTL,
        }
    }
}

/// An [`ArtifactStore`]: files in a folder, rows in a database. Several processes may use both at once. Clones are the same store.
///
/// Equal content of one owner is stored once. What is stored survives the death of the process. Its methods block for the time of a local
/// disk and, when something is written, of a commit.
#[derive(Clone)]
pub struct Artifacts {
    /// Goes first, so that nothing holds the store after the last handle.
    _sweeper: Option<Arc<Sweeper>>,
    store: SqliteStore,
    files: Files,
    clock: Arc<dyn Clock>,
}

/// What is done with files while the write lock is in hand. It holds no store: the thread that writes must not be its last user.
#[derive(Clone)]
struct Files {
    folder: Arc<Path>,
    limits: ArtifactLimits,
}

impl Artifacts {
    /// Artifacts in this folder, which is made when the first one is stored. It has to be the database's own: files without a row go.
    #[must_use]
    pub fn new(store: SqliteStore, folder: PathBuf, limits: ArtifactLimits) -> Self {
        let files = Files { folder: folder.into(), limits };
        Self { _sweeper: None, store, files, clock: Arc::new(SystemClock) }
    }

    /// The same by another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Removes what nothing keeps any more.
    fn expire(&self) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        if self.store.read_now(move |conn| rows::any_expired(conn, now))? {
            let gone = self.store.write_now(Survives::Kill, move |conn| rows::expire(conn, now))?;
            self.unlink(gone)?;
        }
        Ok(())
    }

    /// Removes files that have no row.
    fn unlink(&self, files: Vec<ArtifactRef>) -> Result<(), StoreError> {
        let there = self.files.clone();
        self.store.write_now(Survives::Kill, move |conn| {
            for artifact in files {
                if rows::trust(conn, &artifact)?.is_none() {
                    // What cannot be removed now is found by the next sweep.
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
            opened => opened.map_err(spill::failed)?,
        };
        let there = file.metadata().map_err(spill::failed)?.len();
        if there != meta.bytes {
            return Err(damaged(format!("its file has {there} bytes, not {}", meta.bytes)));
        }
        if offset >= meta.bytes && offset > 0 {
            return Ok(Vec::new());
        }
        file.seek(SeekFrom::Start(offset)).map_err(spill::failed)?;
        let mut bytes = Vec::new();
        file.take(length as u64).read_to_end(&mut bytes).map_err(spill::failed)?;
        if bytes.len() as u64 == meta.bytes && !spill::is_whole(meta, &bytes) {
            return Err(damaged("its bytes are not those that were stored".to_owned()));
        }
        Ok(bytes)
    }

    /// Gives a file its name, and a row. A quota that is used up is an answer, and no failure of the disk.
    fn keep(
        &self,
        conn: &Connection,
        mut meta: ArtifactMeta,
        partial: &Partial,
    ) -> Result<Result<ArtifactMeta, StoreError>, Failure> {
        if let Some(full) = self.refusal(conn, &meta)? {
            return Ok(Err(full));
        }
        // The same bytes from a trusted place do not make those from outside trusted.
        if let Some(known) = rows::trust(conn, &meta.artifact)? {
            meta.trust = meta.trust.max(known);
        }
        fs::rename(&partial.0, self.path(&meta.artifact)).map_err(spill::failed)?;
        rows::put(conn, &meta)?;
        Ok(Ok(meta))
    }

    fn refusal(
        &self,
        conn: &Connection,
        meta: &ArtifactMeta,
    ) -> Result<Option<StoreError>, Failure> {
        let full = |used: u64, limit: u64, whose: &str| {
            let words = format!(
                "{whose} has {used} bytes of stored results, and {} more would be over the {limit} that are kept",
                meta.bytes
            );
            (used.saturating_add(meta.bytes) > limit).then_some(StoreError::Full(words))
        };
        if let Some(run) = meta.run {
            let used = rows::bytes_of_run(conn, run, &meta.artifact)?;
            if let Some(full) = full(used, self.limits.run_bytes, "the run") {
                return Ok(Some(full));
            }
        }
        let used = rows::bytes_of_owner(conn, &meta.owner, &meta.artifact)?;
        Ok(full(used, self.limits.owner_bytes, "the owner"))
    }
}

impl ArtifactStore for Artifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        create_private_folder(&self.files.folder).map_err(spill::failed)?;
        let random: [u64; 2] = std::array::from_fn(|_| random());
        let path = self.files.folder.join(format!("{PARTIAL}{:016x}{:016x}", random[0], random[1]));
        let file = create_private_file(&path).map_err(spill::failed)?;
        let partial = Partial(path);
        // Tells a sweep that somebody works on it. Where files cannot be locked, none of these is ever swept.
        let _ = file.try_lock();
        Ok(Box::new(FileWriter { spill: Spill::new(new, file), partial, artifacts: self.clone() }))
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
        // A name in the form of a path has no row, so no file is opened for it.
        let Some(meta) = self.meta(artifact, owner)? else { return Ok(None) };
        match self.files.bytes(&meta, offset, length) {
            Ok(bytes) => Ok(Some(bytes)),
            // It may have been removed in between.
            Err(error) => self.meta(artifact, owner)?.map_or(Ok(None), |_| Err(error)),
        }
    }

    fn list(&self, owner: &str, limit: usize) -> Result<Vec<ArtifactMeta>, StoreError> {
        let owner = owner.to_owned();
        self.store.read_now(move |conn| rows::of_owner(conn, &owner, limit))
    }

    fn remove(&self, artifact: &ArtifactRef, owner: &str) -> Result<bool, StoreError> {
        let (row, owner) = (artifact.clone(), owner.to_owned());
        let was_there = self
            .store
            .write_now(Survives::Kill, move |conn| rows::remove(conn, &row, Some(&owner)))?;
        if was_there {
            self.unlink(vec![artifact.clone()])?;
        }
        Ok(was_there)
    }
}

/// 64 bits that nobody else draws.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::time::SystemTime::now())
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
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

/// A file that is not finished yet; dropped, it goes.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // Once it has its name there is nothing of this one, which is just as well.
        let _ = fs::remove_file(&self.0);
    }
}

struct FileWriter {
    spill: Spill<File>,
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
        let ttl = i64::try_from(artifacts.files.limits.ttl.as_millis()).unwrap_or(i64::MAX);
        meta.expires_at = Some(now.saturating_add(ttl));
        // Also makes room, where a quota is used up.
        artifacts.expire()?;
        let files = artifacts.files.clone();
        let (kept, partial) = artifacts.store.write_now(Survives::Kill, move |conn| {
            let kept = files.keep(conn, meta, &partial)?;
            Ok((kept, partial))
        })?;
        drop((file, partial));
        kept
    }
}
