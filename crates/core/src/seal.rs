//! Sealing: encryption of stored texts that contain secrets, such as arguments of suspended calls
//! and messages.

/// Prefix of every sealed text.
pub const SEALED: &str = "toolcrib-sealed-1.";

/// Authenticated encryption of texts: only a holder of the same key can open them, and changes are
/// detected.
pub trait Sealer: Send + Sync {
    /// Seals a text. The result is ASCII and begins with [`SEALED`].
    ///
    /// # Errors
    /// [`SealError`] if there is no usable key.
    fn seal(&self, text: &str) -> Result<String, SealError>;

    /// Opens a sealed text.
    ///
    /// # Errors
    /// [`SealError`] if it was sealed with another key or changed since.
    fn open(&self, sealed: &str) -> Result<String, SealError>;
}

/// Why a text cannot be sealed or opened; never contains any of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SealError(pub String);
