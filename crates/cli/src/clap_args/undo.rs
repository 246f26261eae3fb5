//! `toolcrib undo` and `toolcrib redo`.

use std::path::PathBuf;

use clap::Args;

pub(super) const UNDO_HELP: &str = "\
Examples:
  toolcrib undo                     # the newest change
  toolcrib undo 3                   # the newest three, after a confirmation
  toolcrib undo --run run_019d2f3c  # what one run changed
  toolcrib undo --dry-run           # only show what would happen to each file

Before undoing more than one change, the command shows a diff of each file and asks for a confirmation. `toolcrib redo` redoes undone changes.

Exit codes: 0 undone, or nothing to undo; 1 a later change conflicts; 2 several changes with neither a terminal nor --yes; 5 the answer was no, \
or the list changed meanwhile.";

pub(super) const REDO_HELP: &str = "\
Examples:
  toolcrib redo          # what was undone last
  toolcrib redo 3        # the last three
  toolcrib redo --list   # what can be redone

Exit codes: 0 redone, or nothing to redo; 1 a later change conflicts; 2 several changes with neither a terminal nor --yes; 5 the answer was no, \
or the list changed meanwhile.";

#[derive(Debug, Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(crate) take: TakeChanges,
    /// Only changes of this run, all of them unless COUNT is given; a unique prefix of the id is
    /// enough.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Only changes of this conversation, all of them unless COUNT is given; a unique prefix of the
    /// id is enough.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Redo {
    #[command(flatten)]
    pub(crate) take: TakeChanges,
}

/// Options that undo and redo share.
#[derive(Debug, Args)]
pub(crate) struct TakeChanges {
    /// Number of changes, in the order of `--list`. Default: 1.
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) count: Option<u16>,
    /// Only list the changes.
    #[arg(long)]
    pub(crate) list: bool,
    /// Only show what would happen to each file, as a diff.
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,
    /// Overwrite files that were changed since.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask before undoing more than one change; required without a terminal.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Folder of the workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
}
