//! Signs the newest audit record of this store's chain with a key outside the database.

use std::path::PathBuf;
use std::sync::Arc;

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

impl CheckpointSigner {
    pub(super) fn new(signer: Option<Arc<dyn AuditSigner>>, anchors: Option<PathBuf>) -> Self {
        let key = signer.map(|signer| Key {
            public: signer.public_key(),
            signer_file: audit_checkpoints::CheckpointSigner::new(Arc::clone(&signer), anchors),
            signer,
        });
        Self { key, covered: 0 }
    }

    /// Records of the chain without a signature; 0 without a key.
    pub(super) fn uncovered(&self, chain: &AuditChain) -> u64 {
        if self.key.is_some() { chain.seq.saturating_sub(self.covered) } else { 0 }
    }

    /// A checkpoint of the newest record; `None` without a key or a new record.
    pub(super) fn sign(&self, chain: &AuditChain) -> Option<AuditCheckpoint> {
        let key = self.key.as_ref().filter(|_| self.uncovered(chain) > 0)?;
        let (number, seq) = (chain.number.unsigned_abs(), chain.seq);
        let (head, at) = (chain.head_text(), SystemClock.now_ms());
        let signed = AuditCheckpoint::signing_payload(number, seq, &head, at);
        let signature = key.signer.sign(signed.as_bytes());
        Some(AuditCheckpoint { chain: number, seq, head, at, key: key.public.clone(), signature })
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
