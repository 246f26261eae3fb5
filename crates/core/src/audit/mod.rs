//! Audit records: the event format, the hash chain and the payload of signed checkpoints.
//!
//! A record is one line of canonical JSON. Its hash covers the previous record's hash, so that
//! changing, removing, adding or moving a record changes every later hash. Checkpoints signed with
//! a key outside the database also reveal a chain that was rewritten as a whole.

mod event;
mod hash_chain;

pub use event::{AUDIT_VERSION, AuditEvent, AuditKind, decision_name};
pub use hash_chain::{
    AuditCheckpoint, AuditRow, AuditSigner, CHECKPOINT_RECORDS, CHECKPOINT_SECONDS, Hash,
    LOCAL_CHAIN, chain_hash, genesis,
};
