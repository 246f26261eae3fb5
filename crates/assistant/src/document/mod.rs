//! Documents: files that people put in, found by words and meaning.
//!
//! - `model`: a document without its text. `chunk_text`: its text in pieces.
//! - `extract`: the trait through which text comes out of files.
//! - `documents`: adding, listing, viewing, deleting in two steps, restoring.
//! - `indexing`: reading long files window by window, also after the process ended.
//! - `search`: words (the store) and meaning (vectors in memory) together. `view`: text by page.

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
