//! The result of reading.

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The kind, for people and models: "article", "PDF", "feed".
    pub(crate) kind: &'static str,
    /// The title; empty if there is none.
    pub(crate) title: String,
    /// The text.
    pub(crate) text: String,
    /// The address after redirects, or the path.
    pub(crate) source: String,
    /// Sentences on why the text is incomplete.
    pub(crate) notes: Vec<String>,
    /// Isolation level of the process that parsed the text, if any.
    pub(crate) sandbox: Option<&'static str>,
}
