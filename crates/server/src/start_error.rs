//! Errors that prevent a daemon from starting.

/// An error that prevents a daemon from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address, a socket or a file cannot be used; the text states what to do.
    #[error("{0}")]
    Listen(String),
    /// The store failed.
    #[error("the store cannot be used: {0}")]
    Store(#[from] toolcrib_core::StoreError),
    /// A key cannot be generated.
    #[error(transparent)]
    Random(#[from] toolcrib_app::mcp::RandomUnavailable),
}
