//! Linux userland: Alpine Linux in a folder, downloaded, verified and unpacked, in which programs
//! run as the [`Rootfs`] of a sandbox.
//!
//! Invariants
//! - Only verified archives are unpacked: the archive must have the digest known to this build, and
//!   the signature of Alpine's release key.
//! - No file of an archive is created outside its folder, and none is a device, has a set-id bit or
//!   links to the outside.
//! - A system exists completely or not at all: it is unpacked next to its place and moved there
//!   atomically. The next installation resumes or cleans up an interrupted one.
//! - One process at a time changes it, under a kernel lock, so that a dead process never blocks
//!   others.
//! - Files that programs changed in it are not trusted: no write from outside follows a path in it,
//!   and packages are installed by programs inside the sandbox.
//!
//! Upgrading a system in place is not supported; a new release is a new installation that keeps the
//! home folder.

mod atomic_folder;
mod download;
mod error;
mod install;
mod live_lines;
mod packages;
mod release;
mod remove;
mod shell_target;
mod signature;
mod state;
mod unpack;

use std::path::{Path, PathBuf};

pub use error::UserlandError;
pub use install::{InstallResult, Progress};
pub use packages::{BASIC_PACKAGES, PYTHON_PACKAGES, Package, PackageName, Packages};
pub use release::{Release, Signer, UnreadableRelease};
pub use shell_target::{ShellTarget, UnknownTarget};
pub use state::{Ready, State, Status};

use crate::rootfs::Rootfs;
use state::Store;

/// A userland at its location, installed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Userland {
    folder: PathBuf,
    home: PathBuf,
    release: Release,
}

impl Userland {
    /// Creates the userland in this folder with this home folder, of the release known to this
    /// build.
    pub fn new(folder: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), home: home.into(), release: Release::pinned() }
    }

    /// Sets another release.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Sets the mirrors, in order, instead of the release's own; an empty list keeps those.
    #[must_use]
    pub fn mirrors(mut self, mirrors: Vec<String>) -> Self {
        if !mirrors.is_empty() {
            self.release.mirrors = mirrors;
        }
        self
    }

    /// Returns the folder with everything except the home.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder that programs see as [`ROOTFS_HOME`](crate::ROOTFS_HOME).
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the current status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.store().status(&self.home)
    }

    /// Returns the root file system for a [`Job`](crate::Job). The home folder is created if
    /// missing.
    ///
    /// # Errors
    /// [`UserlandError::NotReady`] says what to do; [`UserlandError::Io`] if the home folder cannot
    /// be created.
    pub fn root(&self) -> Result<Rootfs, UserlandError> {
        let status = self.status();
        let State::Ready(_) = status.state else {
            return Err(UserlandError::NotReady(Box::new(status.state)));
        };
        std::fs::create_dir_all(&self.home).map_err(UserlandError::io_at(&self.home))?;
        let folder = self.store().root();
        Ok(Rootfs { folder, writable: true, home: Some(self.home.clone()) })
    }

    /// Returns the shell to start in it: bash if installed.
    #[must_use]
    pub fn shell(&self) -> &'static str {
        // Symlinks inside are not followed from outside.
        let has = |path: &str| self.store().root().join(path).symlink_metadata().is_ok();
        if has("bin/bash") || has("usr/bin/bash") { "bash" } else { "sh" }
    }

    fn store(&self) -> Store {
        Store::new(&self.folder)
    }
}
