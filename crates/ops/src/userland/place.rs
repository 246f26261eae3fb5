//! The location of the userland, and the addresses that its installation may reach.

use std::sync::Arc;

use toolcrib_net::{AddressPolicy, SystemResolver};
use toolcrib_sandbox::userland::{Userland, UserlandError};
use toolcrib_sandbox::{Egress, Local};

use crate::error::OpError;

/// The userland of a person, with the addresses that its installation may reach.
#[derive(Debug, Clone)]
pub struct UserlandPlace {
    /// The userland.
    pub userland: Userland,
    /// Public addresses, and addresses that the owner allows.
    pub addresses: AddressPolicy,
}

impl UserlandPlace {
    /// Returns the backend that runs its package manager.
    #[must_use]
    pub fn backend(&self) -> Local {
        Local::new().egress(Egress::new(self.addresses.clone(), Arc::new(SystemResolver)))
    }
}

impl From<UserlandError> for OpError {
    fn from(error: UserlandError) -> Self {
        match error {
            UserlandError::BadName(_) => Self::Invalid(error.to_string()),
            UserlandError::Busy | UserlandError::NotReady(_) => Self::Conflict(error.to_string()),
            error => Self::Unavailable(error.to_string()),
        }
    }
}
