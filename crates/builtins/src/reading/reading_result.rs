//! What reading returns.

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
