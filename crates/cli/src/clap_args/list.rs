//! `toolcrib list`.

use clap::Subcommand;

pub(super) const LIST_HELP: &str = "\
Examples:
  toolcrib list add Groceries milk bread
  toolcrib list check Groceries milk
  toolcrib list show

Models keep the same lists with the tool list. `toolcrib tool disable --feature lists` switches that off. To see the tools, use `toolcrib tool list`.";

#[derive(Debug, Subcommand)]
pub(crate) enum List {
    /// Show all lists, the one that was changed last first.
    All,
    /// Show one list.
    Show {
        /// Its name; case does not matter. Default: the list that was changed last.
        name: Option<String>,
    },
    /// Make a list.
    Create {
        /// Its name.
        name: String,
        /// Its first items.
        items: Vec<String>,
    },
    /// Add items; the list is made if there is none.
    Add(ListItems),
    /// Remove items.
    Remove(ListItems),
    /// Mark items as done.
    Check(ListItems),
    /// Mark items as not done.
    Uncheck(ListItems),
    /// Remove all items.
    Clear {
        /// Its name.
        name: String,
    },
    /// Delete a list; `toolcrib list undo` brings it back.
    Delete {
        /// Its name.
        name: String,
    },
    /// Give a list another name.
    Rename {
        /// Its name.
        name: String,
        /// The new name.
        new_name: String,
    },
    /// Show the last changes of a list, the newest first; they are kept for 30 days.
    History {
        /// Its name. Default: the list that was changed last.
        name: Option<String>,
        /// The first day or time, such as 2026-11-20.
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
    },
    /// Take back the last change of a list, whether a model or a person made it.
    Undo {
        /// The list. Default: the one that was changed last.
        name: Option<String>,
    },
}

/// Items of a list.
#[derive(Debug, clap::Args)]
pub(crate) struct ListItems {
    /// Name of the list; case does not matter.
    pub(crate) name: String,
    /// The items, each an argument of its own.
    #[arg(required = true)]
    pub(crate) items: Vec<String>,
}
