//! Audit bundles: one tar archive that an auditor verifies without Toolcrib.
//!
//! Besides the records and checkpoints of an export, a bundle contains the public keys, the
//! anchors, the rules and tool definitions in force, a signed list of SHA-256 sums, and
//! `verify.py`, which verifies all of it with Python's standard library. `verify_bundle` does the
//! same here.

mod bundle_export;
mod findings;
mod layout;
mod scan;
mod tar_writer;
mod verify_bundle;

pub use bundle_export::{BundleContents, BundleError, BundleExport};
pub use findings::{BundleFinding, BundleReport};
pub use verify_bundle::{BundleEvidence, verify_bundle};
