//! Errors of pairings and apps.

use toolcrib_assistant::RowError;
use toolcrib_core::StoreError;

/// Why a pairing or an app could not be read, changed or reached. The texts name no command and no
/// route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no app with this name or id.
    #[error("there is no app {0}")]
    UnknownApp(String),
    /// There is no pairing with this id.
    #[error("there is no pairing {0}")]
    UnknownPairing(String),
    /// The request is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The caller did not prove who it is.
    #[error("{0}")]
    Unauthorized(String),
    /// The caller may not do this.
    #[error("{0}")]
    Denied(String),
    /// The request contradicts the present state.
    #[error("{0}")]
    Conflict(String),
    /// The pairing has expired or ended.
    #[error("{0}")]
    Gone(String),
    /// The app cannot be reached or does not follow the protocol.
    #[error("{0}")]
    Unreachable(String),
    /// The vault cannot be used.
    #[error("the keys of apps are in the vault, which cannot be used: {0}")]
    Vault(String),
    /// The rows cannot be read or written.
    #[error(transparent)]
    Row(#[from] RowError),
}

impl From<StoreError> for DeviceError {
    fn from(error: StoreError) -> Self {
        Self::Row(RowError::Store(error))
    }
}
