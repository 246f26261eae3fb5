//! The error of this program: text for the developer who runs it.

/// What went wrong, in words.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result whose error is for people.
pub(crate) type Result<T> = std::result::Result<T, BoxError>;
