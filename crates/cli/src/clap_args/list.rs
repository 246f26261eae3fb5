//! `toolcrib list`.

use clap::Subcommand;

pub(super) const LIST_HELP: &str = "\
Examples:
  toolcrib list add Groceries milk bread
  toolcrib list check Groceries milk
  toolcrib list show

Models use the same lists with the tool `list`. `toolcrib tool disable --feature lists` switches it off. To list tools, use `toolcrib tool list`.";

#[derive(Debug, Subcommand)]
pub(crate) enum List {
    /// Show all lists, last changed first.
    All,
    /// Show a list.
    Show {
        /// Name of the list, in any case. Default: the list that was changed last.
        name: Option<String>,
    },
    /// Create a list.
    Create {
        /// Name of the list.
        name: String,
        /// First items.
        items: Vec<String>,
    },
    /// Add items; creates the list if necessary.
    Add(ListItems),
    /// Remove items.
    Remove(ListItems),
    /// Mark items as done.
    Check(ListItems),
    /// Mark items as not done.
    Uncheck(ListItems),
    /// Remove all items.
    Clear {
        /// Name of the list.
        name: String,
    },
    /// Delete a list; `toolcrib list undo` restores it.
    Delete {
        /// Name of the list.
        name: String,
    },
    /// Rename a list.
    Rename {
        /// Name of the list.
        name: String,
        /// New name.
        new_name: String,
    },
    /// Show the last changes of a list, newest first; changes are kept for 30 days.
    History {
        /// Name of the list. Default: the list that was changed last.
        name: Option<String>,
        /// First day or time, such as 2026-11-20.
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
    },
    /// Undo the last change of a list, by a model or a person.
    Undo {
        /// Name of the list. Default: the list that was changed last.
        name: Option<String>,
    },
}

/// Items of a list.
#[derive(Debug, clap::Args)]
pub(crate) struct ListItems {
    /// Name of the list, in any case.
    pub(crate) name: String,
    /// The items, one argument each.
    #[arg(required = true)]
    pub(crate) items: Vec<String>,
}
