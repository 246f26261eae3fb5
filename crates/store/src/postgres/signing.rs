//! Signs how far the chain of this store has grown, with a key that is not in the database.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::{AuditCheckpoint, AuditSigner, Clock as _, StoreError, SystemClock};

use super::chain::Chain;
use crate::notary::Notary;

/// Signs, if there is a key, and remembers how far.
pub(super) struct Signing {
    key: Option<Key>,
    /// Number of the newest record that is signed, and written down outside.
    covered: u64,
}

struct Key {
    signer: Arc<dyn AuditSigner>,
    public: String,
    /// Writes down outside of the database what was signed.
    notary: Notary,
}

impl Signing {
    pub(super) fn new(signer: Option<Arc<dyn AuditSigner>>, anchors: Option<PathBuf>) -> Self {
        let key = signer.map(|signer| Key {
            public: signer.public_key(),
            notary: Notary::new(Arc::clone(&signer), anchors),
            signer,
        });
        Self { key, covered: 0 }
    }

    /// Records of the chain that are not signed; 0 without a key.
    pub(super) fn uncovered(&self, chain: &Chain) -> u64 {
        if self.key.is_some() { chain.seq.saturating_sub(self.covered) } else { 0 }
    }

    /// A checkpoint of the newest record; `None` = there is no key, or nothing new.
    pub(super) fn sign(&self, chain: &Chain) -> Option<AuditCheckpoint> {
        let key = self.key.as_ref().filter(|_| self.uncovered(chain) > 0)?;
        let (number, seq) = (chain.number.unsigned_abs(), chain.seq);
        let (head, at) = (chain.head_text(), SystemClock.now_ms());
        let signed = AuditCheckpoint::signed(number, seq, &head, at);
        let signature = key.signer.sign(signed.as_bytes());
        Some(AuditCheckpoint { chain: number, seq, head, at, key: key.public.clone(), signature })
    }

    /// Writes a checkpoint down outside the database, when it is committed.
    pub(super) fn keep(&mut self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        if let Some(key) = &self.key {
            key.notary.anchor(made)?;
        }
        self.covered = self.covered.max(made.seq);
        Ok(())
    }
}
