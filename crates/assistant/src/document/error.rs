//! Errors of operations on documents.

use toolcrib_core::{StoreError, ToolError};

use super::documents::MAX_DOCUMENTS;
use super::model::MAX_BYTES;
use crate::rows::{RowError, near_names};

/// Why an operation on documents failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// No document has this id or name.
    #[error("There is no document \"{name}\".{}", near_names(near))]
    Unknown {
        /// The id or name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// Several documents have this name.
    #[error("{count} documents are called \"{name}\". Use the id of one.")]
    Ambiguous {
        /// The name.
        name: String,
        /// Number of documents.
        count: usize,
    },
    /// The name cannot be used.
    #[error("A document needs a name of one line with at most 200 characters.")]
    BadName,
    /// The file is too large.
    #[error("The file has {0} bytes; documents have at most {most} MB.", most = MAX_BYTES >> 20)]
    TooLarge(u64),
    /// The owner has the maximum number of documents.
    #[error("There are {MAX_DOCUMENTS} documents, which is the maximum. Delete one.")]
    Full,
    /// The file has no text.
    #[error("{0} has no text that can be found. Scanned pages need OCR first.")]
    NoText(String),
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The query is empty.
    #[error("The query has no words. Say in query what you look for.")]
    NoQuery,
    /// The code of the first step is wrong or outdated.
    #[error(
        "The code is not the one of this document now. Ask to delete it again without confirm."
    )]
    WrongCode,
    /// The document is not deleted.
    #[error("\"{0}\" is not deleted.")]
    NotDeleted(String),
    /// The page does not exist.
    #[error("\"{name}\" has {parts}: there is nothing at {asked}.")]
    NoPage {
        /// The document.
        name: String,
        /// The existing pages, as text.
        parts: String,
        /// The requested position.
        asked: String,
    },
    /// The embedding model cannot be loaded, or a file of the index cannot be written.
    #[error("Documents cannot be used now: {0}")]
    Index(String),
    /// The rows cannot be read or written.
    #[error(transparent)]
    Row(#[from] RowError),
}

impl From<StoreError> for DocumentError {
    fn from(error: StoreError) -> Self {
        Self::Row(error.into())
    }
}

impl From<DocumentError> for ToolError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Row(RowError::Store(error)) => {
                Self::execution("The documents cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            DocumentError::Row(_)
            | DocumentError::Index(_)
            | DocumentError::NoText(_)
            | DocumentError::Unreadable(_) => Self::execution(error.to_string()),
            error => Self::validation(error.to_string()),
        }
    }
}
