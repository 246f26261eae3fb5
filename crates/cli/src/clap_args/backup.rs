//! `toolcrib backup` and `toolcrib restore`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const BACKUP_HELP: &str = "\
Examples:
  toolcrib backup ~/backups/toolcrib-$(date +%F).tar.gz
  toolcrib backup before-the-move.tar.gz --with-keys

In it: the database as it is at one moment, stored results, undo journals, configuration, rules, agents, skills and tools of your own, secrets \
(sealed), the audit with its anchors and its public key. A daemon may work meanwhile. Keys are left out unless they are asked for: without \
them a backup opens nothing, and with them it has to be kept like a key.";

pub(crate) const RESTORE_HELP: &str = "\
Examples:
  toolcrib restore ~/backups/toolcrib-2026-05-01.tar.gz
  toolcrib restore before-the-move.tar.gz --force

The whole backup is checked before anything is touched. What is there already is moved aside and named, never deleted.

Exit codes: 0 it is back, 1 a daemon works there or it could not be written, 2 something is there already, 3 it is no sound backup.";

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file, a .tar.gz.
    pub(crate) file: PathBuf,
    /// Put the keys in: of the vault, of the audit, of this machine's token, of providers.
    #[arg(long)]
    pub(crate) with_keys: bool,
    /// Write over a file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup.
    pub(crate) file: PathBuf,
    /// Move what is there aside.
    #[arg(long)]
    pub(crate) force: bool,
}
