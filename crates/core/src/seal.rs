//! Sealing texts that hold secrets, so that they can be kept beside everything else: arguments of calls that wait, messages.

/// Begins every sealed text, whoever sealed it.
pub const SEALED: &str = "toolcrib-sealed-1.";

/// Seals texts so that only whoever has the same key can read them, and notices when they were changed.
pub trait Sealer: Send + Sync {
    /// The sealed text: plain ASCII that begins with [`SEALED`].
    ///
    /// # Errors
    /// [`SealError`] when there is no key that can be used.
    fn seal(&self, text: &str) -> Result<String, SealError>;

    /// The text that was sealed.
    ///
    /// # Errors
    /// [`SealError`] when it was sealed with another key, or changed since.
    fn open(&self, sealed: &str) -> Result<String, SealError>;
}

/// Why a text cannot be sealed or opened; never holds any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SealError(pub String);
