//! Sources of the tool `read`: an address, a stored document, or a file of the workspace, as one
//! text.
//!
//! - `source`: distinguishes addresses, documents and paths.
//! - `page`: fetches an address. `file`: reads a file. Both detect the format by the content.
//! - `stored_document`: documents that people have added, which another crate stores.
//! - `excerpt`: the part of a long text that fits into a result.

mod excerpt;
mod file;
mod kind;
mod page;
mod reading_result;
mod source;
mod stored_document;

pub(crate) use excerpt::excerpt;
pub(crate) use file::read_file;
pub(crate) use page::read_page;
pub(crate) use reading_result::Reading;
pub(crate) use source::Source;
pub use stored_document::{DocumentPart, DocumentText, StoredDocuments};
