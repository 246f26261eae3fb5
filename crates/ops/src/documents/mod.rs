//! Operations on documents.

mod add;
mod change;
mod list;
mod row;
mod search;
mod view;

pub use add::{AddDocumentRequest, add};
pub use change::{ChangeDocumentRequest, DocumentChange, change};
pub use list::{ListDocumentsRequest, list};
pub use row::DocumentReply;
pub use search::{PassageReply, SearchDocumentsRequest, search};
pub use view::{DocumentTextReply, ViewDocumentRequest, view};
