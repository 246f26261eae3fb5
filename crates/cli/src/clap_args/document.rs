//! `toolcrib document`.

use std::path::PathBuf;

use clap::Subcommand;

pub(super) const DOCUMENT_HELP: &str = "\
Examples:
  toolcrib document add contract.pdf
  toolcrib document search \"notice period\"
  toolcrib document show contract.pdf --page 3

Models search the same documents with the tool document. `toolcrib tool disable --feature documents` switches that off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Document {
    /// Put files in: PDF, Word, Excel, CSV, HTML or text.
    Add {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// List the documents, the newest first.
    List {
        /// Those that were deleted and can be restored.
        #[arg(long)]
        deleted: bool,
    },
    /// Find passages by words and meaning.
    Search {
        /// What is looked for, in words.
        query: String,
        /// How many passages at most.
        #[arg(long, default_value_t = 5)]
        limit: usize,
    },
    /// Show text of a document.
    Show {
        /// Its id or name.
        document: String,
        /// The first page or sheet.
        #[arg(long, default_value_t = 1)]
        page: u32,
        /// The first character in the page.
        #[arg(long, default_value_t = 0)]
        offset: u32,
    },
    /// Delete a document; it can be restored for 30 days.
    Delete {
        /// Its id or name.
        document: String,
    },
    /// Bring a deleted document back.
    Restore {
        /// Its id or name.
        document: String,
    },
}
