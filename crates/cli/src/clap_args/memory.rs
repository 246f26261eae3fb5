//! `toolcrib memory`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use toolcrib_core::MemoryCategory;

pub(super) const MEMORY_HELP: &str = "\
Examples:
  toolcrib memory list
  toolcrib memory edit favorite_color \"The favorite color is blue.\"
  toolcrib memory undo

Models store memories with memory_store and memory_learn, and find them with memory_recall. `toolcrib tool disable --feature memory` switches \
memory off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// List memories, or those that match a search best.
    List {
        /// Words to search for.
        query: Option<String>,
    },
    /// Show a memory with its text and author.
    Show {
        /// Key of the memory.
        key: String,
    },
    /// Add or edit a memory; you become its author.
    #[command(visible_alias = "add")]
    Edit {
        /// Key of the memory; a new key adds a memory.
        key: String,
        /// The text. Default: standard input.
        text: Option<String>,
        /// Category. Default: that of the existing memory, or general.
        #[arg(long)]
        category: Option<CategoryArg>,
    },
    /// Forget a memory; `toolcrib memory undo` restores it.
    Forget {
        /// Key of the memory.
        key: String,
    },
    /// Undo the last change of a memory, by a model or a person.
    Undo {
        /// Key of the memory. Default: the memory that was changed last.
        key: Option<String>,
    },
    /// Export all memories as JSON.
    Export {
        /// File to write. Default: standard output.
        file: Option<PathBuf>,
    },
    /// Import the memories of a file; memories with the same key are replaced.
    Import {
        /// File to read. Default: standard input.
        file: Option<PathBuf>,
        /// Also forget the memories that the file does not contain.
        #[arg(long)]
        replace: bool,
    },
}

/// Category of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CategoryArg {
    /// A fact.
    General,
    /// A preference of yours.
    Preference,
    /// A method that worked.
    Learning,
    /// An error, and its solution.
    Error,
}

impl From<CategoryArg> for MemoryCategory {
    fn from(category: CategoryArg) -> Self {
        match category {
            CategoryArg::General => Self::General,
            CategoryArg::Preference => Self::Preference,
            CategoryArg::Learning => Self::Learning,
            CategoryArg::Error => Self::Error,
        }
    }
}
