//! Documents: files that people add, searchable by words and meaning.
//!
//! - `model`: a document without its text. `chunk_text`: splits its text.
//! - `extract`: the trait for extracting text from files.
//! - `documents`: adding, listing, viewing, deleting in two steps, restoring.
//! - `indexing`: reads long files window by window, and continues after a process ended.
//! - `search`: combines words (the store) and meaning (vectors in memory). `view`: text by page.

mod chunk_text;
mod documents;
mod error;
mod extract;
mod indexing;
mod model;
mod search;
mod view;

pub use documents::{Deletion, Documents, MAX_DOCUMENTS};
pub use error::DocumentError;
pub use extract::{TextExtractor, TextWindow};
pub use model::{Document, DocumentStatus, MAX_BYTES};
pub use search::Passage;
pub use view::DocumentView;
