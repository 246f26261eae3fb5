//! The way from nothing, or from something broken, to a userland that is ready.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use toolcrib_net::HttpClient;

use super::Userland;
use super::error::UserlandError;
use super::fetch::{self, FetchError};
use super::place;
use super::release::arch;
use super::signature;
use super::state::{Ready, State, Store};
use super::unpack::{self, UnpackError};

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// This mirror is asked.
    Asking(String),
    /// So many bytes of the archive are there, of so many if that is known.
    Downloaded(u64, Option<u64>),
    /// A mirror was of no use, and why.
    Useless(String, String),
    /// Digest and signature are compared.
    Verifying,
    /// The archive is unpacked.
    Unpacking,
}

/// What came of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// It was there already, the same release.
    Already(Ready),
    /// It was installed, or installed anew. Whatever had been in it is gone, its home is as it was.
    Now(Ready),
}

/// An archive that was checked.
struct Checked {
    sha256: String,
    signed_by: Option<String>,
    mirror: String,
}

impl Userland {
    /// Installs it, or repairs it: whatever is broken, half there or of another release is replaced by a new system, in one step. With
    /// `anew`, what is ready too. The home stays.
    ///
    /// # Errors
    /// [`UserlandError`]. What was ready before is ready still; what was downloaded is gone on with the next time.
    pub async fn install(
        &self,
        client: &HttpClient,
        anew: bool,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Installed, UserlandError> {
        let digest = self.release.digest().ok_or_else(|| UserlandError::NoArchive {
            name: self.release.name.clone(),
            version: self.release.version.clone(),
            arch: arch(),
        })?;
        let store = self.store();
        let _lock = store.lock()?;
        place::tidy(store.folder()).map_err(UserlandError::at(store.folder()))?;
        let before = store.state();
        if let State::Ready(ready) = &before
            && ready.sha256 == digest
            && !anew
        {
            return Ok(Installed::Already(ready.clone()));
        }
        let made = self.make(&store, client, &digest, told).await;
        if made.is_err() && matches!(before, State::Ready(_)) {
            // Nothing of it was touched.
            store.set(&before)?;
        }
        let ready = made?;
        fs::create_dir_all(&self.home).map_err(UserlandError::at(&self.home))?;
        Ok(Installed::Now(ready))
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
        let fresh = place::fresh(store.folder()).map_err(UserlandError::at(store.folder()))?;
        let (from, into) = (part.clone(), fresh.clone());
        let unpacking = tokio::task::spawn_blocking(move || unpack_file(&from, &into)).await;
        let unpacked = unpacking.map_err(|error| UserlandError::at(&part)(error.into()))?;
        if let Err(error) = unpacked {
            let _ = place::clear(&fresh);
            // The right archive, and still of no use: it is not worth keeping.
            let _ = fs::remove_file(&part);
            let broken = UserlandError::Unpack(error.to_string());
            store.set(&State::Broken { reason: broken.to_string() })?;
            return Err(broken);
        }
        place::step_in(&fresh, &store.root()).map_err(UserlandError::at(&store.root()))?;
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
        // What was in its place before, and the archive: neither is needed any more.
        place::clear(&fresh).map_err(UserlandError::at(&fresh))?;
        let _ = fs::remove_file(&part);
        Ok(ready)
    }

    /// Fetches the archive from the first mirror that has it as it should be.
    async fn obtain(
        &self,
        store: &Store,
        client: &HttpClient,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Checked, UserlandError> {
        let mut tried = Vec::new();
        for mirror in &self.release.mirrors {
            store.set(&State::Downloading { mirror: mirror.clone() })?;
            told(Progress::Asking(mirror.clone()));
            match self.archive_from(store, client, mirror, part, digest, told).await {
                Ok(()) => {
                    let signed_by = self.signed(client, mirror, part, told).await?;
                    let (sha256, mirror) = (digest.to_owned(), mirror.clone());
                    return Ok(Checked { sha256, signed_by, mirror });
                }
                Err(Miss::Here(error)) => return Err(error),
                Err(Miss::There(reason)) => {
                    told(Progress::Useless(mirror.clone(), reason.clone()));
                    tried.push(format!("{mirror}: {reason}"));
                }
            }
        }
        Err(UserlandError::NoMirror { what: self.release.archive(), tried })
    }

    /// Fetches it from one mirror. What another one began may have been wrong from the start, so then it is fetched once more as a whole.
    async fn archive_from(
        &self,
        store: &Store,
        client: &HttpClient,
        mirror: &str,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(), Miss> {
        let progress = |there, whole| told(Progress::Downloaded(there, whole));
        let url = self.release.url(mirror);
        for _ in 0..2 {
            let begun = part.metadata().is_ok_and(|meta| meta.len() > 0);
            // An archive that came whole before something broke off needs no mirror.
            let whole = begun && self.is_right(store, part, digest, told)?;
            if whole {
                return Ok(());
            }
            match fetch::download(client, &url, part, &progress).await {
                Err(error) if error.is_of_this_machine() => return Err(here(part, error)),
                result => result.map_err(|error| Miss::There(error.to_string()))?,
            }
            if self.is_right(store, part, digest, told)? {
                return Ok(());
            }
            let _ = fs::remove_file(part);
            if !begun {
                break;
            }
        }
        Err(Miss::There("its archive is not the one that is known (SHA-256)".to_owned()))
    }

    fn is_right(
        &self,
        store: &Store,
        part: &Path,
        digest: &str,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<bool, Miss> {
        store.set(&State::Verifying).map_err(Miss::Here)?;
        told(Progress::Verifying);
        let found = sha256(part).map_err(|error| Miss::Here(UserlandError::at(part)(error)))?;
        Ok(found == digest)
    }

    /// Looks for a signature that holds, at the mirror of the archive first. `None` = the release names nobody who signs it.
    async fn signed(
        &self,
        client: &HttpClient,
        mirror: &String,
        part: &Path,
        told: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Option<String>, UserlandError> {
        let Some(signer) = &self.release.signer else { return Ok(None) };
        let data = fs::read(part).map_err(UserlandError::at(part))?;
        let others = self.release.mirrors.iter().filter(|other| *other != mirror);
        let mut tried = Vec::new();
        for mirror in std::iter::once(mirror).chain(others) {
            let url = format!("{}.asc", self.release.url(mirror));
            let fetched = fetch::small(client, &url, signature::MOST_BYTES).await;
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

/// Why a mirror did not help.
enum Miss {
    /// It is its fault.
    There(String),
    /// It is ours.
    Here(UserlandError),
}

fn here(part: &Path, error: FetchError) -> Miss {
    let error = match error {
        FetchError::Disk(error) => error,
        other => io::Error::other(other.to_string()),
    };
    Miss::Here(UserlandError::at(part)(error))
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
