//! Backups: everything that is kept of a person in one file, taken while a daemon works, and put
//! back whole or not at all.
//!
//! Invariants
//! - The database in it is that of one moment; anchors of its audit are never ahead of its records.
//! - No key stands in it unless keys were asked for: not those of the vault and the audit, not the
//!   token of the machine, no key of a provider that is written in the configuration.
//! - It is read again as a whole before it counts as made, and before anything of it is put back.

mod archive;
mod create;
mod manifest;
mod members;
mod restore;

pub(crate) use create::{BackupReport, create};
pub(crate) use restore::{RestoreReport, restore};
