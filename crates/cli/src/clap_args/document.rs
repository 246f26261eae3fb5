//! `toolcrib document`.

use std::path::PathBuf;

use clap::Subcommand;

pub(super) const DOCUMENT_HELP: &str = "\
Examples:
  toolcrib document add contract.pdf
  toolcrib document search \"notice period\"
  toolcrib document show contract.pdf --page 3

Models search the same documents with the tool `document`. `toolcrib tool disable --feature documents` switches it off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Document {
    /// Add files: PDF, Word, Excel, CSV, HTML or text.
    Add {
        /// Paths of the files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// List documents, newest first.
    List {
        /// List deleted documents that can be restored.
        #[arg(long)]
        deleted: bool,
    },
    /// Find passages by words and meaning.
    Search {
        /// Words to search for.
        query: String,
        /// Maximum number of passages.
        #[arg(long, default_value_t = 5)]
        limit: usize,
    },
    /// Show the text of a document.
    Show {
        /// Id or name of the document.
        document: String,
        /// First page or sheet.
        #[arg(long, default_value_t = 1)]
        page: u32,
        /// First character in the page.
        #[arg(long, default_value_t = 0)]
        offset: u32,
    },
    /// Delete a document; it can be restored for 30 days.
    Delete {
        /// Id or name of the document.
        document: String,
    },
    /// Restore a deleted document.
    Restore {
        /// Id or name of the document.
        document: String,
    },
}
