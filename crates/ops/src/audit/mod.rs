//! Operations on the audit.

mod bundle;

pub use bundle::{BundleRequest, bundle};
