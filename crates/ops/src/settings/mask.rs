//! The mask of secrets.

/// The mask of a secret. Written back, it keeps the stored value.
pub const SECRET_MASK: &str = "***";
