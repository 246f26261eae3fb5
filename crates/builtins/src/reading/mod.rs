//! What the tool `read` reads: an address, or a file of the workspace, as one text.
//!
//! - `source`: tells addresses from paths.
//! - `page`: fetches an address. `file`: reads a file. Both find out what they got by its content.
//! - `stored_document`: documents that people have put in, which another crate keeps.
//! - `excerpt`: the part of a long text that a result has room for.

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
