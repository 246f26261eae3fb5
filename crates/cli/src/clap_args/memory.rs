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
all of that off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// List the memories, or those that fit a need best.
    List {
        /// What is looked for, in words.
        query: Option<String>,
    },
    /// Show one memory: its text, and who or what wrote it.
    Show {
        /// Its key.
        key: String,
    },
    /// Write a memory; the text is yours from then on.
    Edit {
        /// Its key; a new one adds a memory.
        key: String,
        /// The text. Default: standard input.
        text: Option<String>,
        /// Its group. Default: that of the present memory, or general.
        #[arg(long)]
        category: Option<CategoryArg>,
    },
    /// Forget a memory; `toolcrib memory undo` takes it back.
    Forget {
        /// Its key.
        key: String,
    },
    /// Take back the last change of a memory, whether a model or a person made it.
    Undo {
        /// The memory. Default: the one that was changed last.
        key: Option<String>,
    },
    /// Write all memories as JSON.
    Export {
        /// The file. Default: standard output.
        file: Option<PathBuf>,
    },
    /// Add the memories of a file; those with the same keys are replaced.
    Import {
        /// The file. Default: standard input.
        file: Option<PathBuf>,
        /// Also forget the memories that the file does not have.
        #[arg(long)]
        replace: bool,
    },
}

/// The group of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CategoryArg {
    /// A fact.
    General,
    /// What you prefer.
    Preference,
    /// What worked.
    Learning,
    /// What failed, and how it was solved.
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
