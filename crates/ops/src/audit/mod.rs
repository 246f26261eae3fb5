//! Operations on the audit.

mod bundle;
mod verify;

pub use bundle::{BundleRequest, bundle};
pub use verify::{VerifyReply, VerifyRequest, verify};
