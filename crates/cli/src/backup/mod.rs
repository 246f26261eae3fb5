//! Backups: all stored data of a person in one file, created while a daemon runs, and restored
//! completely or not at all.
//!
//! Invariants
//! - The database in a backup has a consistent state; anchors of its audit are never ahead of its
//!   records.
//! - A backup contains no keys unless they were requested: neither those of the vault and the
//!   audit, nor the token of the machine, nor keys of providers in the configuration.
//! - A backup is verified completely after it was written, and before any part of it is restored.

mod archive;
mod create;
mod manifest;
mod members;
mod restore;

pub(crate) use create::{BackupReport, create};
pub(crate) use restore::{RestoreReport, restore};
