//! The trusted checkpoints of a chain, from the records and from the anchor file.
#![deny(clippy::indexing_slicing)]

use std::collections::{HashMap, HashSet};

use toolcrib_core::AuditCheckpoint;
use toolcrib_core::audit::Hash;

use super::findings::{CheckpointLocation, Finding, Forgery, Remark, Tampering};
use super::hex;
use super::trusted_keys::TrustedKeys;

/// A record number of a chain with the hash that was signed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TrustedCheckpoint {
    pub(super) seq: u64,
    pub(super) head: Hash,
}

/// The checkpoints of one chain, and the problems with them.
#[derive(Debug, Clone, Default)]
pub struct TrustedCheckpoints {
    /// Sorted by record number.
    pub(super) seals: Vec<TrustedCheckpoint>,
    pub(super) findings: Vec<Finding>,
    pub(super) remarks: Vec<Remark>,
}

impl TrustedCheckpoints {
    /// Checks every checkpoint of the chain; those of other chains are ignored.
    ///
    /// An anchor without a checkpoint in the records is a finding: a store commits the row durably
    /// (it survives a power cut) before it appends the anchor, so no crash explains it. A
    /// checkpoint without an anchor is a remark: every process that dies between the two steps
    /// leaves one, and its row is signed anyway. Without an anchor file nothing is compared.
    #[must_use]
    pub fn verify(
        chain: u64,
        records: &[AuditCheckpoint],
        anchors: Option<&[AuditCheckpoint]>,
        keys: &TrustedKeys,
    ) -> Self {
        let mut checker = Checker { chain, keys, checked: HashMap::new(), found: Self::default() };
        let rows = checker.believed(CheckpointLocation::Records, records);
        if let Some(anchors) = anchors {
            let anchored = checker.believed(CheckpointLocation::Anchors, anchors);
            checker.compare(&rows, &anchored);
        }
        let mut found = checker.found;
        found.seals.sort_unstable();
        found.seals.dedup();
        found
    }
}

struct Checker<'a> {
    chain: u64,
    keys: &'a TrustedKeys,
    /// Caches results: checking a signature takes far longer than every other step, and most
    /// checkpoints are stored twice.
    checked: HashMap<&'a str, (&'a AuditCheckpoint, Result<(), Forgery>)>,
    found: TrustedCheckpoints,
}

impl<'a> Checker<'a> {
    fn believed(
        &mut self,
        kept: CheckpointLocation,
        checkpoints: &'a [AuditCheckpoint],
    ) -> Vec<TrustedCheckpoint> {
        let mut believed = Vec::new();
        let chain = self.chain;
        for checkpoint in checkpoints.iter().filter(|c| c.chain == chain) {
            let head = hex::array(&checkpoint.head).ok_or(Forgery::Signature);
            match head.and_then(|head| self.check(checkpoint).map(|()| head)) {
                Ok(head) => believed.push(TrustedCheckpoint { seq: checkpoint.seq, head }),
                Err(why) => self.found.findings.push(Finding {
                    chain,
                    seq: checkpoint.seq,
                    what: Tampering::ForgedCheckpoint { kept, why },
                }),
            }
        }
        self.found.seals.extend(&believed);
        believed
    }

    fn check(&mut self, checkpoint: &'a AuditCheckpoint) -> Result<(), Forgery> {
        if let Some((known, result)) = self.checked.get(checkpoint.signature.as_str())
            && *known == checkpoint
        {
            return *result;
        }
        let result = self.keys.check(checkpoint);
        self.checked.insert(&checkpoint.signature, (checkpoint, result));
        result
    }

    fn compare(&mut self, rows: &[TrustedCheckpoint], anchored: &[TrustedCheckpoint]) {
        let chain = self.chain;
        let missing = |of: &[TrustedCheckpoint], from: &[TrustedCheckpoint]| {
            let there: HashSet<(u64, Hash)> = of.iter().map(|seal| (seal.seq, seal.head)).collect();
            let mut gone: Vec<u64> = from
                .iter()
                .filter(|seal| !there.contains(&(seal.seq, seal.head)))
                .map(|seal| seal.seq)
                .collect();
            gone.sort_unstable();
            gone.dedup();
            gone
        };
        for seq in missing(rows, anchored) {
            let what = Tampering::MissingCheckpoint;
            self.found.findings.push(Finding { chain, seq, what });
        }
        let gone = missing(anchored, rows);
        if let Some(&seq) = gone.first() {
            let count = gone.len() as u64;
            self.found.remarks.push(Remark::NotAnchored { chain, seq, count });
        }
    }
}
