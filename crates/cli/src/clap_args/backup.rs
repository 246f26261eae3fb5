//! `toolcrib backup` and `toolcrib restore`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const BACKUP_HELP: &str = "\
Examples:
  toolcrib backup ~/backups/toolcrib-$(date +%F).tar.gz
  toolcrib backup before-the-move.tar.gz --with-keys

A backup contains a consistent snapshot of the database, artifacts, undo journals, configuration, rules, your own agents, skills and tools, \
secrets (encrypted), and the audit log with its anchors and public key. The daemon may keep running. Keys are only included with --with-keys: \
without them the secrets cannot be decrypted; with them, protect the backup like a key.";

pub(crate) const RESTORE_HELP: &str = "\
Examples:
  toolcrib restore ~/backups/toolcrib-2026-05-01.tar.gz
  toolcrib restore before-the-move.tar.gz --force

The whole backup is checked before any file changes. Existing data is moved aside, never deleted; the command prints where.

Exit codes: 0 restored, 1 a daemon is running there or a file could not be written, 2 data exists already, 3 the backup is damaged.";

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Path of the backup, a .tar.gz file.
    pub(crate) file: PathBuf,
    /// Include the keys of the vault, the audit log, this machine's token and the providers.
    #[arg(long)]
    pub(crate) with_keys: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Path of the backup.
    pub(crate) file: PathBuf,
    /// Move existing data aside.
    #[arg(long)]
    pub(crate) force: bool,
}
