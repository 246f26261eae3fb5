//! Verifies a whole audit: every chain in the store, and every chain in a trusted anchor.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use toolcrib_core::{AuditStore, StoreError};

use super::anchor_file::AnchorFile;
use super::checkpoints::TrustedCheckpoints;
use super::findings::Remark;
use super::hash_chain::{ChainReport, ChainVerifier, Start};
use super::trusted_keys::TrustedKeys;

/// Number of records read at once.
pub const PAGE: usize = 1_000;

/// The keys and anchors against which the records are verified.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The public keys whose checkpoints are trusted.
    pub keys: TrustedKeys,
    /// The anchor file, if there is one. It must have been read before the records; otherwise a
    /// checkpoint appended later would be ahead of them.
    pub anchors: Option<AnchorFile>,
    /// The point at which chains begin.
    pub start: Start,
}

impl Evidence {
    /// Returns the chains in trusted anchors: a forged line cannot invent a chain.
    pub(super) fn anchored_chains(&self) -> BTreeSet<u64> {
        let mut chains = BTreeSet::new();
        for anchor in self.anchors.iter().flat_map(|anchors| &anchors.checkpoints) {
            if !chains.contains(&anchor.chain) && self.keys.check(anchor).is_ok() {
                chains.insert(anchor.chain);
            }
        }
        chains
    }

    /// Returns the remark about the anchor file itself, if there is one.
    #[must_use]
    pub fn remark(&self) -> Option<Remark> {
        let torn = self.anchors.as_ref().map_or(0, |anchors| anchors.torn);
        (torn > 0).then_some(Remark::TornAnchors { count: torn })
    }

    fn anchors(&self) -> Option<&[toolcrib_core::AuditCheckpoint]> {
        self.anchors.as_ref().map(|anchors| anchors.checkpoints.as_slice())
    }

    /// Creates a verifier for a chain with the checkpoints that are stored with it.
    pub(super) fn verifier(
        &self,
        chain: u64,
        start: Start,
        checkpoints: &[toolcrib_core::AuditCheckpoint],
    ) -> ChainVerifier {
        let seals = TrustedCheckpoints::verify(chain, checkpoints, self.anchors(), &self.keys);
        ChainVerifier::new(chain, start, seals)
    }
}

/// Verifies every chain, in the order of their numbers. Reads records page by page; other processes
/// may write meanwhile.
///
/// Computes without yielding between two pages: about 10 ms for [`PAGE`] records.
///
/// ```
/// use std::sync::Arc;
///
/// use toolcrib_audit::{AuditKey, Evidence, TrustedKeys, verify};
/// use toolcrib_core::{AuditEvent, AuditKind, AuditSigner as _, AuditStore as _, Context};
/// use toolcrib_engine::store::MemoryAudit;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let key = Arc::new(AuditKey::open(folder.path())?);
/// let keys = TrustedKeys::parse(&key.public_key())?;
/// let audit = MemoryAudit::signed_by(key);
/// audit.append(AuditEvent::new(AuditKind::Settled, 0, Arc::new(Context::default()))).await?;
/// audit.checkpoint_now().await?;
///
/// let reports = verify(&audit, &Evidence { keys, ..Evidence::default() }).await?;
/// assert!(reports[0].is_sound());
/// assert_eq!((reports[0].records, reports[0].signed), (1, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`StoreError`] if the store cannot be read.
pub async fn verify(
    store: &dyn AuditStore,
    evidence: &Evidence,
) -> Result<Vec<ChainReport>, StoreError> {
    let kept = store.chains().await?.into_iter().map(|(chain, _)| chain);
    let mut chains: BTreeSet<u64> = kept.collect();
    chains.extend(evidence.anchored_chains());
    let mut reports = Vec::with_capacity(chains.len());
    for chain in chains {
        // Read before the records: a checkpoint that is created meanwhile may be ahead of the last
        // page.
        let checkpoints = store.checkpoints(chain).await?;
        let mut verifier = evidence.verifier(chain, evidence.start, &checkpoints);
        let mut after = 0;
        loop {
            let page = store.records(chain, after, PAGE).await?;
            page.iter().for_each(|row| verifier.add(row));
            match page.last() {
                // A store that returned the same page again would never end.
                Some(row) if row.seq > after => after = row.seq,
                _ => break,
            }
        }
        reports.push(verifier.finish());
    }
    Ok(reports)
}
