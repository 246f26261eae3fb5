//! `toolcrib undo` and `toolcrib redo`.

use std::path::PathBuf;

use clap::Args;

pub(super) const UNDO_HELP: &str = "\
Examples:
  toolcrib undo                     # the newest change
  toolcrib undo 3                   # the newest three, after a question
  toolcrib undo --run run_019d2f3c  # what one run changed
  toolcrib undo --dry-run           # only show what would happen to each file

More than one change is shown first, with a diff of each file, and undone after a yes. `toolcrib redo` makes undone changes again.

Exit codes: 0 undone, or nothing to undo; 1 something was changed again since and stands in the way; 2 several changes without a terminal and \
without --yes; 5 the answer was no, or the list changed meanwhile.";

pub(super) const REDO_HELP: &str = "\
Examples:
  toolcrib redo          # what was undone last
  toolcrib redo 3        # the last three
  toolcrib redo --list   # what can be redone

Exit codes: 0 redone, or nothing to redo; 1 something was changed since and stands in the way; 2 several changes without a terminal and \
without --yes; 5 the answer was no, or the list changed meanwhile.";

#[derive(Debug, Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(crate) take: TakeChanges,
    /// Only changes of this run, all of them unless COUNT says how many; the id may be cut.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Only changes of this conversation, all of them unless COUNT says how many; the id may be
    /// cut.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Redo {
    #[command(flatten)]
    pub(crate) take: TakeChanges,
}

/// What undo and redo have in common.
#[derive(Debug, Args)]
pub(crate) struct TakeChanges {
    /// How many changes, the first of `--list` first. Default: 1.
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) count: Option<u16>,
    /// Only list the changes.
    #[arg(long)]
    pub(crate) list: bool,
    /// Only show what would happen to each file, with a diff.
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,
    /// Overwrite what was changed again since.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask before more than one change; needed where no terminal is.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Folder of the workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
}
