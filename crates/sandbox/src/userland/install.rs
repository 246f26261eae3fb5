//! Installs or repairs a userland.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use toolcrib_net::HttpClient;

use super::Userland;
use super::atomic_folder;
use super::download::{self, FetchError};
use super::error::UserlandError;
use super::release::arch;
use super::signature;
use super::state::{Ready, State, Store};
use super::unpack::{self, UnpackError};

/// Progress of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Contacting this mirror.
    Asking(String),
    /// Downloaded bytes of the archive, and its size if known.
    Downloaded(u64, Option<u64>),
    /// A mirror failed, with the reason.
    Useless(String, String),
    /// Digest and signature are being verified.
    Verifying,
    /// The archive is being unpacked.
    Unpacking,
    /// The package manager wrote this line.
    Said(String),
}

/// Result of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallResult {
    /// The same release was already installed.
    Already(Ready),
    /// Installed or reinstalled. The previous system was replaced; the home folder is unchanged.
    Now(Ready),
}

/// A verified archive.
struct VerifiedArchive {
    sha256: String,
    signed_by: Option<String>,
    mirror: String,
}

impl Userland {
    /// Installs or repairs the userland: a broken, incomplete or outdated system is replaced
    /// atomically by a new one; with `anew`, a ready one too. The home folder is kept.
    ///
    /// # Errors
    /// [`UserlandError`]. A ready system stays ready, and the next attempt resumes the download.
    pub async fn install(
        &self,
        client: &HttpClient,
        anew: bool,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<InstallResult, UserlandError> {
        let digest = self.release.digest().ok_or_else(|| UserlandError::NoArchive {
            name: self.release.name.clone(),
            version: self.release.version.clone(),
            arch: arch(),
        })?;
        let store = self.store();
        let _lock = store.lock()?;
        atomic_folder::remove_leftovers(store.folder())
            .map_err(UserlandError::io_at(store.folder()))?;
        let before = store.state();
        if let State::Ready(ready) = &before
            && ready.sha256 == digest
            && !anew
        {
            return Ok(InstallResult::Already(ready.clone()));
        }
        let made = self.make(&store, client, &digest, told).await;
        if made.is_err() && matches!(before, State::Ready(_)) {
            // The system was not touched.
            store.set(&before)?;
        }
        let ready = made?;
        fs::create_dir_all(&self.home).map_err(UserlandError::io_at(&self.home))?;
        Ok(InstallResult::Now(ready))
    }

    async fn make(
        &self,
        store: &Store,
        client: &HttpClient,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Ready, UserlandError> {
        let part = store.part(&self.release.archive());
        let checked = self.obtain(store, client, &part, digest, told).await?;
        store.set(&State::Unpacking)?;
        told(Progress::Unpacking);
        let fresh = atomic_folder::temp_beside(store.folder())
            .map_err(UserlandError::io_at(store.folder()))?;
        let (from, into) = (part.clone(), fresh.clone());
        let unpacking = tokio::task::spawn_blocking(move || unpack_file(&from, &into)).await;
        let unpacked = unpacking.map_err(|error| UserlandError::io_at(&part)(error.into()))?;
        if let Err(error) = unpacked {
            let _ = atomic_folder::remove_all(&fresh);
            // The verified archive cannot be unpacked, so it is not kept.
            let _ = fs::remove_file(&part);
            let broken = UserlandError::Unpack(error.to_string());
            store.set(&State::Broken { reason: broken.to_string() })?;
            return Err(broken);
        }
        atomic_folder::swap_into_place(&fresh, &store.root())
            .map_err(UserlandError::io_at(&store.root()))?;
        let ready = Ready {
            name: self.release.name.clone(),
            version: self.release.version.clone(),
            sha256: checked.sha256,
            signed_by: checked.signed_by,
            branch: self.release.branch.clone(),
            mirror: checked.mirror,
            mirrors: self.release.mirrors.clone(),
            repositories: None,
        };
        store.set(&State::Ready(ready.clone()))?;
        // The previous system and the archive are no longer needed.
        atomic_folder::remove_all(&fresh).map_err(UserlandError::io_at(&fresh))?;
        let _ = fs::remove_file(&part);
        Ok(ready)
    }

    /// Gets the archive from the first mirror that has a valid one.
    async fn obtain(
        &self,
        store: &Store,
        client: &HttpClient,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<VerifiedArchive, UserlandError> {
        let mut tried = Vec::new();
        for mirror in &self.release.mirrors {
            store.set(&State::Downloading { mirror: mirror.clone() })?;
            told(Progress::Asking(mirror.clone()));
            match self.archive_from(store, client, mirror, part, digest, told).await {
                Ok(()) => {
                    let signed_by = self.signed(client, mirror, part, told).await?;
                    let (sha256, mirror) = (digest.to_owned(), mirror.clone());
                    return Ok(VerifiedArchive { sha256, signed_by, mirror });
                }
                Err(MirrorFailure::Here(error)) => return Err(error),
                Err(MirrorFailure::There(reason)) => {
                    told(Progress::Useless(mirror.clone(), reason.clone()));
                    tried.push(format!("{mirror}: {reason}"));
                }
            }
        }
        Err(UserlandError::NoMirror { what: self.release.archive(), tried })
    }

    /// Gets the archive from one mirror. A part from another mirror may have been wrong from the
    /// start, so after a mismatch it is downloaded once more from the beginning.
    async fn archive_from(
        &self,
        store: &Store,
        client: &HttpClient,
        mirror: &str,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(), MirrorFailure> {
        let progress = |there, whole| told(Progress::Downloaded(there, whole));
        let url = self.release.url(mirror);
        for _ in 0..2 {
            let begun = part.metadata().is_ok_and(|meta| meta.len() > 0);
            // A complete archive from an interrupted installation needs no mirror.
            let whole = begun && self.is_right(store, part, digest, told)?;
            if whole {
                return Ok(());
            }
            match download::download(client, &url, part, &progress).await {
                Err(error) if error.is_of_this_machine() => return Err(local_failure(part, error)),
                result => result.map_err(|error| MirrorFailure::There(error.to_string()))?,
            }
            if self.is_right(store, part, digest, told)? {
                return Ok(());
            }
            let _ = fs::remove_file(part);
            if !begun {
                break;
            }
        }
        Err(MirrorFailure::There("its archive is not the one that is known (SHA-256)".to_owned()))
    }

    fn is_right(
        &self,
        store: &Store,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<bool, MirrorFailure> {
        store.set(&State::Verifying).map_err(MirrorFailure::Here)?;
        told(Progress::Verifying);
        let found =
            sha256(part).map_err(|error| MirrorFailure::Here(UserlandError::io_at(part)(error)))?;
        Ok(found == digest)
    }

    /// Searches a valid signature, first at the archive's mirror. `None` if the release names no
    /// signer.
    async fn signed(
        &self,
        client: &HttpClient,
        mirror: &String,
        part: &Path,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Option<String>, UserlandError> {
        let Some(signer) = &self.release.signer else { return Ok(None) };
        let data = fs::read(part).map_err(UserlandError::io_at(part))?;
        let others = self.release.mirrors.iter().filter(|other| *other != mirror);
        let mut tried = Vec::new();
        for mirror in std::iter::once(mirror).chain(others) {
            let url = format!("{}.asc", self.release.url(mirror));
            let fetched = download::download_small(client, &url, signature::MOST_BYTES).await;
            let checked = fetched.map_err(|error| error.to_string()).and_then(|text| {
                signature::verify(&data, &text, signer).map_err(|error| error.to_string())
            });
            match checked {
                Ok(()) => return Ok(Some(signer.fingerprint.clone())),
                Err(reason) => {
                    told(Progress::Useless(mirror.clone(), reason.clone()));
                    tried.push(format!("{mirror}: {reason}"));
                }
            }
        }
        let what = format!("a signature of {}", self.release.archive());
        Err(UserlandError::NoMirror { what, tried })
    }
}

/// Why a mirror failed.
enum MirrorFailure {
    /// The mirror's fault.
    There(String),
    /// A local error.
    Here(UserlandError),
}

fn local_failure(part: &Path, error: FetchError) -> MirrorFailure {
    let error = match error {
        FetchError::Disk(error) => error,
        other => io::Error::other(other.to_string()),
    };
    MirrorFailure::Here(UserlandError::io_at(part)(error))
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unpack_file(from: &Path, into: &Path) -> Result<(), UnpackError> {
    let file = File::open(from).map_err(UnpackError::Read)?;
    unpack::unpack(io::BufReader::new(file), into)
}
