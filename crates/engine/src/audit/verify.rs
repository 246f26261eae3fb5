//! A whole audit: every chain that a store has, or that an anchor says it had.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use toolcrib_core::{AuditStore, StoreError};

use super::anchors::Anchors;
use super::chain::{ChainReport, ChainVerifier, Start};
use super::finding::Remark;
use super::seals::Seals;
use super::trust::TrustedKeys;

/// Records that are read at once.
pub const PAGE: usize = 1_000;

/// What the records are held against.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Public keys that checkpoints are believed from.
    pub keys: TrustedKeys,
    /// The anchor file, where there is one. It must have been read before the records: what is appended later would be ahead of them.
    pub anchors: Option<Anchors>,
    /// Where chains begin.
    pub start: Start,
}

impl Evidence {
    /// Chains that anchors speak of beside these; a believed word only, so that no forged line makes a chain that never was.
    fn add_anchored(&self, chains: &mut BTreeSet<u64>) {
        for anchor in self.anchors.iter().flat_map(|anchors| &anchors.checkpoints) {
            if !chains.contains(&anchor.chain) && self.keys.check(anchor).is_ok() {
                chains.insert(anchor.chain);
            }
        }
    }

    /// What is to be said of the anchor file itself.
    #[must_use]
    pub fn remark(&self) -> Option<Remark> {
        let torn = self.anchors.as_ref().map_or(0, |anchors| anchors.torn);
        (torn > 0).then_some(Remark::TornAnchors { count: torn })
    }

    fn anchors(&self) -> Option<&[toolcrib_core::AuditCheckpoint]> {
        self.anchors.as_ref().map(|anchors| anchors.checkpoints.as_slice())
    }

    /// A verifier for a chain with the checkpoints that are kept beside it.
    pub(super) fn verifier(
        &self,
        chain: u64,
        start: Start,
        checkpoints: &[toolcrib_core::AuditCheckpoint],
    ) -> ChainVerifier {
        let seals = Seals::of(chain, checkpoints, self.anchors(), &self.keys);
        ChainVerifier::new(chain, start, seals)
    }
}

/// Verifies every chain, in the order of their numbers. Records are read page by page; others may go on writing meanwhile.
///
/// Between two pages it computes without a pause: some 10 ms for [`PAGE`] records.
///
/// # Errors
/// [`StoreError`] when the store cannot be read.
pub async fn verify(
    store: &dyn AuditStore,
    evidence: &Evidence,
) -> Result<Vec<ChainReport>, StoreError> {
    let kept = store.chains().await?.into_iter().map(|(chain, _)| chain);
    let mut chains: BTreeSet<u64> = kept.collect();
    evidence.add_anchored(&mut chains);
    let mut reports = Vec::with_capacity(chains.len());
    for chain in chains {
        // Before the records: a checkpoint that is made meanwhile may be ahead of the last page.
        let checkpoints = store.checkpoints(chain).await?;
        let mut verifier = evidence.verifier(chain, evidence.start, &checkpoints);
        let mut after = 0;
        loop {
            let page = store.records(chain, after, PAGE).await?;
            page.iter().for_each(|row| verifier.add(row));
            match page.last() {
                // A store that gives the same page again would never end.
                Some(row) if row.seq > after => after = row.seq,
                _ => break,
            }
        }
        reports.push(verifier.finish());
    }
    Ok(reports)
}
