//! Operations on the secrets of the vault. Values can be written, but no reply contains them.

mod consumer;
mod context;
mod list;
mod remove;
mod rotate;
mod set;

pub use consumer::SecretConsumer;
pub use context::SecretContext;
pub use list::{ListSecretsReply, ListSecretsRequest, MissingSecret, SecretReply, list};
pub use remove::{RemoveSecretRequest, RemovedSecret, remove};
pub use rotate::{RotatedSecrets, rotate};
pub use set::{SecretStored, SetSecretRequest, set};
