//! Reads the records of all chains backwards.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolcrib_core::{AuditRow, AuditStore, StoreError};

/// Records of a chain that are read at once.
const WINDOW: u64 = 500;

/// Of each chain the number of a record.
pub type ChainPositions = BTreeMap<u64, u64>;

/// The newest records of all chains, backwards: of each chain the part that was read and not
/// returned yet.
pub(super) struct ReverseReader<'a> {
    audit: &'a dyn AuditStore,
    /// Number of the record before which the next one is looked for, by chain.
    before: ChainPositions,
    read: BTreeMap<u64, Vec<AuditRow>>,
    scanned: u64,
}

impl<'a> ReverseReader<'a> {
    /// Before these records; `None` = from the newest record of each chain.
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

    /// How many records were returned.
    pub(super) fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Where the next reader goes on; `None` = there is nothing further back.
    pub(super) fn into_next(self) -> Option<ChainPositions> {
        self.before.values().any(|before| *before > 1).then_some(self.before)
    }

    /// The next record back; of several chains the one that was written last.
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
            // A gap: what is further back is looked for all the same.
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
