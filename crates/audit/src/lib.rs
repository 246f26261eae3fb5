//! The audit: the key that signs checkpoints, and the verifier that finds tampering.
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! `toolcrib_core::audit` defines records, hashes and checkpoints; a store writes them. In this
//! crate, `hash_chain` verifies one chain against the checkpoints that `checkpoints` accepted by
//! the keys of `trusted_keys`; `verify` does so for a store and `verify_export` for an export;
//! `verify_calls` and `verify_decisions` compare rows with records. `bundle` writes and verifies
//! archives that can be verified without Toolcrib.
//!
//! # Invariants
//!
//! - The verifier returns a result for every input, and trusts nothing but the public keys.
//! - It stores checkpoints in memory, never records; of approvals, grants and switches, which
//!   people create, it stores the hashes of their records.
//! - The traces of a crashed process are remarks, never findings.
#![deny(clippy::indexing_slicing)]

mod anchor_file;
mod bundle;
mod checkpoints;
mod decision_history;
mod export_writer;
mod findings;
mod hash_chain;
mod hex;
mod signing_key;
mod trusted_keys;
mod verify;
mod verify_calls;
mod verify_decisions;
mod verify_export;

pub use anchor_file::AnchorFile;
pub use bundle::{
    BundleContents, BundleError, BundleEvidence, BundleExport, BundleFinding, BundleReport,
    verify_bundle,
};
pub use checkpoints::TrustedCheckpoints;
pub use export_writer::{ExportFrom, Exporter};
pub use findings::{CheckpointLocation, Finding, Forgery, Remark, Tampering};
pub use hash_chain::{ChainReport, ChainVerifier, Start};
pub use signing_key::{AuditKey, KEY_FILE, KeyError, PUBLIC_KEY_FILE};
pub use trusted_keys::{FORMER_KEYS_FILE, KeyFileError, OTHER_KEYS_FILE, TrustError, TrustedKeys};
pub use verify::{Evidence, PAGE, verify};
pub use verify_calls::{CallFinding, CallTampering, CallsReport, verify_calls};
pub use verify_decisions::{
    DecisionFinding, DecisionStores, DecisionTampering, DecisionsReport, Subject, verify_decisions,
};
pub use verify_export::{ExportError, ExportLine, verify_export};

#[cfg(test)]
mod tests;
