//! Reads the records of all chains in reverse order.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolcrib_core::{AuditRow, AuditStore, StoreError};

/// Number of records of a chain that are read at once.
const WINDOW: u64 = 500;

/// The number of one record of each chain.
pub type ChainPositions = BTreeMap<u64, u64>;

/// Reads the newest records of all chains in reverse order; holds the part of each chain that was
/// read and not returned yet.
pub(super) struct ReverseReader<'a> {
    audit: &'a dyn AuditStore,
    /// Number of the record before which the next one is searched, by chain.
    before: ChainPositions,
    read: BTreeMap<u64, Vec<AuditRow>>,
    scanned: u64,
}

impl<'a> ReverseReader<'a> {
    /// Creates a reader of the records before these; `None` starts with the newest record of each
    /// chain.
    pub(super) async fn new(
        audit: &'a dyn AuditStore,
        before: Option<ChainPositions>,
    ) -> Result<Self, StoreError> {
        let before = match before {
            Some(before) => before,
            None => {
                let chains = audit.chains().await?.into_iter();
                chains.map(|(chain, last)| (chain, last.saturating_add(1))).collect()
            }
        };
        Ok(Self { audit, before, read: BTreeMap::new(), scanned: 0 })
    }

    /// Returns the number of records that were returned.
    pub(super) fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Returns the position for the next reader; `None` if there are no older records.
    pub(super) fn into_next(self) -> Option<ChainPositions> {
        self.before.values().any(|before| *before > 1).then_some(self.before)
    }

    /// Returns the next older record; if there are several chains, the one that was written last.
    pub(super) async fn next(&mut self) -> Result<Option<AuditRow>, StoreError> {
        let chains: Vec<u64> = self.before.keys().copied().collect();
        for chain in &chains {
            self.fill(*chain).await?;
        }
        let newest = self.read.iter().filter_map(|(chain, rows)| Some((at(rows.last()?), *chain)));
        let Some((_, chain)) = newest.max() else { return Ok(None) };
        let row = self.read.get_mut(&chain).and_then(Vec::pop);
        if let Some(row) = &row {
            self.before.insert(chain, row.seq);
            self.scanned += 1;
        }
        Ok(row)
    }

    async fn fill(&mut self, chain: u64) -> Result<(), StoreError> {
        let before = self.before.get(&chain).copied().unwrap_or_default();
        let rows = self.read.entry(chain).or_default();
        if !rows.is_empty() || before <= 1 {
            return Ok(());
        }
        let after = (before - 1).saturating_sub(WINDOW);
        let limit = usize::try_from(before - 1 - after).unwrap_or_default();
        *rows = self.audit.records(chain, after, limit).await?;
        rows.retain(|row| row.seq < before);
        if rows.is_empty() {
            // The chain has a gap: continue with older records.
            self.before.insert(chain, after + 1);
        }
        Ok(())
    }
}

fn at(row: &AuditRow) -> i64 {
    #[derive(Deserialize)]
    struct At {
        at: i64,
    }
    serde_json::from_str::<At>(&row.text).map_or(i64::MIN, |event| event.at)
}
