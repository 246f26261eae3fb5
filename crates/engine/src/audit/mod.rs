//! Proving what the audit says: the key that signs checkpoints, and the verifier that finds what was done to records.
//!
//! A chain of hashes alone stops nobody who can write the database: everything after a change can be hashed again. So checkpoints say,
//! signed with a key that is not in the database, how far a chain had grown; they are kept beside the records and in an anchor file
//! elsewhere (reliability 4.6).
//!
//! Invariants
//! - Whatever a record, a checkpoint, an anchor or an export holds, the verifier answers; it trusts nothing but the public keys.
//! - It keeps checkpoints in memory, never records; of questions, grants and switches, which people make, the hashes of their records.
//! - What the death of a process leaves behind is no finding.
#![deny(clippy::indexing_slicing)]

mod anchors;
mod calls;
mod chain;
mod decisions;
mod export;
mod exporter;
mod finding;
mod hex;
mod key;
mod seals;
mod trail;
mod trust;
mod verify;

pub use anchors::Anchors;
pub use calls::{CallFinding, CallTampering, CallsReport, verify_calls};
pub use chain::{ChainReport, ChainVerifier, Start};
pub use decisions::{
    DecisionFinding, DecisionStores, DecisionTampering, DecisionsReport, Subject, verify_decisions,
};
pub use export::{ExportError, ExportLine, verify_export};
pub use exporter::{ExportFrom, Exporter};
pub use finding::{Finding, Forgery, Kept, Remark, Tampering};
pub use key::{AuditKey, KEY_FILE, KeyError, PUBLIC_KEY_FILE};
pub use seals::Seals;
pub use trust::{TrustError, TrustedKeys};
pub use verify::{Evidence, PAGE, verify};

#[cfg(test)]
mod tests;
