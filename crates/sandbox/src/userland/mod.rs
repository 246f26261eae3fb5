//! A Linux userland for programs: Alpine Linux in a folder, downloaded, checked and unpacked, in which programs run as [`Root`] of a sandbox.
//!
//! Invariants
//! - What was not checked is not unpacked: the archive has the digest that this build knows, and the signature of Alpine's release key.
//! - Nothing of an archive lands outside of its folder, and no device, set-id bit or way out comes with it.
//! - A system is there whole or not at all: it is unpacked beside its place and moved there in one step. What broke off is gone on with, or
//!   cleared away, by the next installation.
//! - One process at a time changes it; the kernel says who, so that nobody who died stands in the way.
//! - What programs did in it is not believed: nothing in here is written through a path in it, packages come by programs in the sandbox.
//!
//! Absent on purpose: upgrades of a system that is in use (a new release is installed anew, its home stays).

mod error;
mod fetch;
mod install;
mod packages;
mod place;
mod release;
mod remove;
mod signature;
mod state;
mod target;
mod unpack;

use std::path::{Path, PathBuf};

pub use error::UserlandError;
pub use install::{Installed, Progress};
pub use packages::{Asked, BASIC, PYTHON, Package, Packages};
pub use release::{Release, Signer, UnreadableRelease};
pub use state::{Ready, State, Status};
pub use target::{ShellTarget, UnknownTarget};

use crate::root::Root;
use state::Store;

/// A userland at its place, whether there is one or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Userland {
    folder: PathBuf,
    home: PathBuf,
    release: Release,
}

impl Userland {
    /// The one in this folder, whose programs have that home folder; of the release that this build knows.
    pub fn new(folder: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), home: home.into(), release: Release::pinned() }
    }

    /// The same of another release.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// The same from these mirrors, in their order, in place of the release's own; none = those of the release.
    #[must_use]
    pub fn mirrors(mut self, mirrors: Vec<String>) -> Self {
        if !mirrors.is_empty() {
            self.release.mirrors = mirrors;
        }
        self
    }

    /// Where everything of it is kept but the home.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder that programs in it see as [`ROOT_HOME`](crate::ROOT_HOME).
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// How it is, looked at just now.
    #[must_use]
    pub fn status(&self) -> Status {
        self.store().status(&self.home)
    }

    /// What a [`Job`](crate::Job) needs to run in it. The home is made if it is not there.
    ///
    /// # Errors
    /// [`UserlandError::NotReady`] says what is to be done; [`UserlandError::Io`] when there is no home to be had.
    pub fn root(&self) -> Result<Root, UserlandError> {
        let status = self.status();
        let State::Ready(_) = status.state else {
            return Err(UserlandError::NotReady(Box::new(status.state)));
        };
        std::fs::create_dir_all(&self.home).map_err(UserlandError::at(&self.home))?;
        let folder = self.store().root();
        Ok(Root { folder, writable: true, home: Some(self.home.clone()) })
    }

    /// The shell to start in it: bash, where it is installed.
    #[must_use]
    pub fn shell(&self) -> &'static str {
        // What a link in there says is for its own programs to follow.
        let has = |path: &str| self.store().root().join(path).symlink_metadata().is_ok();
        if has("bin/bash") || has("usr/bin/bash") { "bash" } else { "sh" }
    }

    fn store(&self) -> Store {
        Store::new(&self.folder)
    }
}
