//! Artifacts: content-addressed files with a small description beside each; or, for tests and embedders without a disk, in memory.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, ArtifactWriter, Clock as _, StoreError, SystemClock,
    canonical, defaults,
};

/// Artifacts in a folder: `REF` holds the bytes, `REF.json` the description. Expired ones go when another is stored.
pub struct FileArtifacts {
    folder: PathBuf,
}

impl FileArtifacts {
    /// Artifacts in this folder, which is made when the first one is stored.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Removes artifacts older than `age`; what cannot be removed stays.
    pub fn sweep(&self, age: Duration) {
        let Some(oldest) = SystemTime::now().checked_sub(age) else { return };
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let old = entry.metadata().and_then(|m| m.modified()).is_ok_and(|time| time < oldest);
            if old {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn description(&self, artifact: &ArtifactRef) -> PathBuf {
        self.folder.join(format!("{artifact}.json"))
    }
}

fn failed(error: io::Error) -> StoreError {
    StoreError::Failed(format!("artifacts: {error}"))
}

impl ArtifactStore for FileArtifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        create_private_folder(&self.folder).map_err(failed)?;
        self.sweep(defaults::ARTIFACT_TTL);
        let path = self.folder.join(format!(
            "partial-{:016x}{:016x}",
            fastrand::u64(..),
            fastrand::u64(..)
        ));
        let file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
        let folder = self.folder.clone();
        Ok(Box::new(FileWriter { spill: Spill::new(new, file), partial: Partial(path), folder }))
    }

    fn meta(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        if !artifact.is_well_formed() {
            return Ok(None);
        }
        let text = match fs::read(self.description(artifact)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let meta: ArtifactMeta = serde_json::from_slice(&text)
            .map_err(|error| StoreError::Failed(format!("artifact {artifact}: {error}")))?;
        Ok((meta.owner == owner).then_some(meta))
    }

    fn read(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
        offset: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self.meta(artifact, owner)?.is_none() {
            return Ok(None);
        }
        let mut file = File::open(self.folder.join(&artifact.0)).map_err(failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(length as u64).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(bytes))
    }
}

#[cfg(unix)]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Takes bytes up to the cap and counts the rest.
struct Spill<W> {
    new: NewArtifact,
    hasher: Sha256,
    kept: u64,
    total: u64,
    to: W,
}

impl<W: io::Write> Spill<W> {
    fn new(new: NewArtifact, to: W) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(new.owner.as_bytes());
        hasher.update([0]);
        Self { new, hasher, kept: 0, total: 0, to }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let room = defaults::SPILL_BYTES.saturating_sub(self.kept);
        let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let kept = bytes.get(..take).unwrap_or(bytes);
        self.to.write_all(kept).map_err(failed)?;
        self.hasher.update(kept);
        self.kept += kept.len() as u64;
        self.total += bytes.len() as u64;
        Ok(())
    }

    fn finish(self) -> (ArtifactMeta, W) {
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
            created_at: SystemClock.now_ms(),
        };
        (meta, self.to)
    }
}

struct FileWriter {
    spill: Spill<File>,
    partial: Partial,
    folder: PathBuf,
}

/// A file that is not finished yet; dropped, it goes.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename there is nothing of this name, which is just as well.
        let _ = fs::remove_file(&self.0);
    }
}

impl ArtifactWriter for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.spill.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError> {
        let Self { spill, partial, folder } = *self;
        let (mut meta, file) = spill.finish();
        drop(file);
        // The same bytes from a trusted place do not make those from outside trusted.
        let known =
            FileArtifacts::new(folder.clone()).meta(&meta.artifact, &meta.owner).ok().flatten();
        meta.trust = known.map_or(meta.trust, |known| known.trust.max(meta.trust));
        let description = serde_json::to_vec(&meta)
            .map_err(|error| StoreError::Failed(format!("artifacts: {error}")))?;
        let target = folder.join(&meta.artifact.0);
        // The description comes last: without it the artifact does not exist.
        fs::rename(&partial.0, &target).map_err(failed)?;
        let described = Partial(partial.0.with_extension("json-partial"));
        fs::write(&described.0, description).map_err(failed)?;
        fs::rename(&described.0, target.with_extension("json")).map_err(failed)?;
        Ok(meta)
    }
}

type Kept = HashMap<ArtifactRef, (ArtifactMeta, Arc<[u8]>)>;

/// Artifacts in memory.
#[derive(Default)]
pub struct MemoryArtifacts {
    kept: Arc<Mutex<Kept>>,
}

struct MemoryWriter {
    spill: Spill<Vec<u8>>,
    kept: Arc<Mutex<Kept>>,
}

impl ArtifactWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.spill.write(bytes)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactMeta, StoreError> {
        let Self { spill, kept } = *self;
        let (mut meta, bytes) = spill.finish();
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, _)) = kept.get(&meta.artifact) {
            meta.trust = meta.trust.max(known.trust);
        }
        kept.insert(meta.artifact.clone(), (meta.clone(), bytes.into()));
        drop(kept);
        Ok(meta)
    }
}

impl MemoryArtifacts {
    fn find(&self, artifact: &ArtifactRef, owner: &str) -> Option<(ArtifactMeta, Arc<[u8]>)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(artifact).filter(|(meta, _)| meta.owner == owner).cloned()
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn create(&self, new: NewArtifact) -> Result<Box<dyn ArtifactWriter>, StoreError> {
        let spill = Spill::new(new, Vec::new());
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{CallId, Trust};

    fn new(owner: &str) -> NewArtifact {
        NewArtifact {
            owner: owner.into(),
            media_type: "text/plain".into(),
            trust: Trust::Tool,
            source: None,
            call: CallId::fresh(),
            run: None,
        }
    }

    fn check(store: &dyn ArtifactStore) {
        let mut writer = store.create(new("ann")).unwrap();
        writer.write(b"hello ").unwrap();
        writer.write(b"world").unwrap();
        let meta = writer.finish().unwrap();
        assert_eq!((meta.bytes, meta.total_bytes), (11, 11));
        let read =
            |owner, offset, length| store.read(&meta.artifact, owner, offset, length).unwrap();
        assert_eq!(read("ann", 6, 100).unwrap(), b"world");
        assert_eq!(read("ann", 100, 5).unwrap(), b"");
        assert_eq!(read("bob", 0, 5), None, "only the owner reads it");
        for name in ["../etc/passwd", "art_..", "art_XYZ", ""] {
            assert_eq!(store.meta(&ArtifactRef(name.into()), "ann").unwrap(), None);
        }
        // The same content again is the same artifact; of another owner it is another one.
        let mut again = store.create(new("ann")).unwrap();
        again.write(b"hello world").unwrap();
        assert_eq!(again.finish().unwrap().artifact, meta.artifact);
        let mut other = store.create(new("bob")).unwrap();
        other.write(b"hello world").unwrap();
        assert_ne!(other.finish().unwrap().artifact, meta.artifact);
    }

    #[test]
    fn both_stores_keep_artifacts_apart_by_owner() {
        check(&MemoryArtifacts::default());
        let folder = tempfile::tempdir().unwrap();
        let files = FileArtifacts::new(folder.path().join("artifacts"));
        check(&files);
        drop(files.create(new("ann")).unwrap());
        let left: Vec<_> = fs::read_dir(folder.path().join("artifacts")).unwrap().collect();
        assert_eq!(left.len(), 4, "two artifacts with their descriptions, nothing unfinished");
        files.sweep(Duration::ZERO);
        assert_eq!(fs::read_dir(folder.path().join("artifacts")).unwrap().count(), 0);
    }
}
