//! What the tool `read` reads: an address, or a file of the workspace, as one text.
//!
//! - `source`: tells addresses from paths.
//! - `page`: fetches an address. `file`: reads a file. Both find out what they got by its content.
//! - `excerpt`: the part of a long text that a result has room for.

mod excerpt;
mod file;
mod kind;
mod page;
mod source;

pub(crate) use excerpt::excerpt;
pub(crate) use file::read_file;
pub(crate) use page::read_page;
pub(crate) use source::Source;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// What it is, for people and models: "article", "PDF", "feed".
    pub(crate) kind: &'static str,
    /// Its title; empty = it has none.
    pub(crate) title: String,
    /// The text.
    pub(crate) text: String,
    /// The address after redirects, or the path.
    pub(crate) source: String,
    /// Why there is less text than there could be, as sentences.
    pub(crate) notes: Vec<String>,
    /// Isolation level of the process that parsed it, if one did.
    pub(crate) sandbox: Option<&'static str>,
}
