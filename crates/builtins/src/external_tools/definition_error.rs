//! Errors in the definition of a tool folder.

/// Why a folder is not a valid tool: a lowercase fragment for the author of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionError(String);

impl DefinitionError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Adds the place of the error.
    pub(super) fn at(self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}
