//! The hash chain of audit records, and the payload of its signed checkpoints.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::event::AUDIT_VERSION;

/// Maximum number of records between two checkpoints.
pub const CHECKPOINT_RECORDS: u64 = 1_000;
/// Maximum time between two checkpoints of a growing chain.
pub const CHECKPOINT_SECONDS: u64 = 60;
/// The chain of a database that a single machine writes.
pub const LOCAL_CHAIN: u64 = 1;

/// A SHA-256.
pub type Hash = [u8; 32];

/// Returns the hash that precedes the first record of a chain.
#[must_use]
pub fn genesis(chain: u64) -> Hash {
    Sha256::digest(format!("toolcrib audit {AUDIT_VERSION} chain {chain}")).into()
}

/// Returns the hash of a record, given the previous one.
#[must_use]
pub fn chain_hash(previous: &Hash, text: &str) -> Hash {
    Sha256::new().chain_update(previous).chain_update(text.as_bytes()).finalize().into()
}

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its chain.
    pub chain: u64,
    /// Its number in the chain, from 1, without gaps.
    pub seq: u64,
    /// The record's text.
    pub text: String,
    /// [`chain_hash`] of the previous record's hash and this text, as 64 hexadecimal digits.
    pub hash: String,
}

/// A signed statement of a chain's length and newest hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCheckpoint {
    /// The chain.
    pub chain: u64,
    /// Number of the newest record.
    pub seq: u64,
    /// Its hash, as 64 hexadecimal digits.
    pub head: String,
    /// Unix time in milliseconds.
    pub at: i64,
    /// The public key that verifies the signature, in hexadecimal.
    pub key: String,
    /// Signature over [`AuditCheckpoint::signing_payload`], in hexadecimal.
    pub signature: String,
}

impl AuditCheckpoint {
    /// Returns the bytes that are signed.
    #[must_use]
    pub fn signing_payload(chain: u64, seq: u64, head: &str, at: i64) -> String {
        format!("toolcrib audit checkpoint {AUDIT_VERSION}\n{chain}\n{seq}\n{head}\n{at}\n")
    }
}

/// Signs checkpoints with a key that is not in the database.
pub trait AuditSigner: Send + Sync {
    /// Returns the public key, in hexadecimal.
    fn public_key(&self) -> String;

    /// Returns the signature of these bytes, in hexadecimal.
    fn sign(&self, bytes: &[u8]) -> String;
}
