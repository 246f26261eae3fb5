//! Signs the newest audit record of this store's chain with a key outside the database.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_postgres::Row;
use toolcrib_core::{AuditCheckpoint, AuditSigner, Clock as _, StoreError, SystemClock};

use super::audit_chain::AuditChain;
use crate::audit_checkpoints;

/// Signs checkpoints, if there is a key, and remembers the newest one.
pub(super) struct CheckpointSigner {
    key: Option<Key>,
    /// Number of the newest record that is signed and anchored.
    covered: u64,
}

struct Key {
    signer: Arc<dyn AuditSigner>,
    public: String,
    /// Writes checkpoints to the anchor file outside the database.
    signer_file: audit_checkpoints::CheckpointSigner,
}

impl Key {
    fn sign(&self, chain: i64, seq: u64, head: String) -> AuditCheckpoint {
        let (chain, at) = (chain.unsigned_abs(), SystemClock.now_ms());
        let signed = AuditCheckpoint::signing_payload(chain, seq, &head, at);
        let signature = self.signer.sign(signed.as_bytes());
        AuditCheckpoint { chain, seq, head, at, key: self.public.clone(), signature }
    }
}

impl CheckpointSigner {
    pub(super) fn new(signer: Option<Arc<dyn AuditSigner>>, anchors: Option<PathBuf>) -> Self {
        let key = signer.map(|signer| Key {
            public: signer.public_key(),
            signer_file: audit_checkpoints::CheckpointSigner::new(Arc::clone(&signer), anchors),
            signer,
        });
        Self { key, covered: 0 }
    }

    /// Returns the number of unsigned records of the chain; 0 without a key.
    pub(super) fn uncovered(&self, chain: &AuditChain) -> u64 {
        if self.key.is_some() { chain.seq.saturating_sub(self.covered) } else { 0 }
    }

    /// Returns whether this store signs.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Signs a checkpoint of the newest record; `None` without a key or a new record.
    pub(super) fn sign(&self, chain: &AuditChain) -> Option<AuditCheckpoint> {
        if self.uncovered(chain) == 0 {
            return None;
        }
        self.key.as_ref().map(|key| key.sign(chain.number, chain.seq, chain.head_text()))
    }

    /// Signs a checkpoint of the end of another store's chain, from its row; `None` without a key,
    /// or if the row is invalid.
    pub(super) fn close(&self, row: &Row) -> Option<AuditCheckpoint> {
        let (number, seq): (i64, i64) = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        let head: String = row.try_get(2).ok()?;
        Some(self.key.as_ref()?.sign(number, u64::try_from(seq).ok()?, head))
    }

    /// Appends a committed checkpoint of another store's chain to the anchor file.
    pub(super) fn store_anchor_of_other(&self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        self.key.as_ref().map_or(Ok(()), |key| key.signer_file.anchor(made))
    }

    /// Appends a committed checkpoint to the anchor file.
    pub(super) fn store_anchor(&mut self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        if let Some(key) = &self.key {
            key.signer_file.anchor(made)?;
        }
        self.covered = self.covered.max(made.seq);
        Ok(())
    }
}
