//! Writes an export of a whole audit, some lines at a time: the caller asks for the next ones, and
//! nothing is buffered in between.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;

use toolcrib_core::audit::genesis;
use toolcrib_core::{AuditEvent, AuditRow, AuditStore, StoreError};

use super::verify::PAGE;
use super::verify_export::ExportLine;

/// Where an export begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFrom {
    /// With the first record of each chain.
    Beginning,
    /// With the record of this number.
    Number(u64),
    /// With the first record of this time or later, in milliseconds since 1970.
    Time(i64),
}

/// An export under way. Others go on writing meanwhile: what is newer than its begin is not part of
/// it.
pub struct Exporter<'a> {
    store: &'a dyn AuditStore,
    from: ExportFrom,
    /// Chains that are not begun, with the number of the last record of each.
    chains: VecDeque<(u64, u64)>,
    open: Option<Open>,
    records: u64,
}

/// The chain that is being written.
struct Open {
    chain: u64,
    /// The last record that is written already.
    after: u64,
    /// The last one that will be.
    last: u64,
}

impl<'a> Exporter<'a> {
    /// Begins: looks up which chains there are and how far they have grown.
    ///
    /// # Errors
    /// What the store says.
    pub async fn new(store: &'a dyn AuditStore, from: ExportFrom) -> Result<Self, StoreError> {
        let chains = store.chains().await?.into();
        Ok(Self { store, from, chains, open: None, records: 0 })
    }

    /// Records that were given so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next lines; `None` = that was all.
    ///
    /// # Errors
    /// What the store says.
    pub async fn next(&mut self) -> Result<Option<Vec<ExportLine>>, StoreError> {
        match self.open.take() {
            Some(open) => self.page(open).await.map(Some),
            None => match self.chains.pop_front() {
                Some((chain, last)) => self.begin(chain, last).await.map(Some),
                None => Ok(None),
            },
        }
    }

    /// The head of a chain: where it begins, and its checkpoints.
    async fn begin(&mut self, chain: u64, last: u64) -> Result<Vec<ExportLine>, StoreError> {
        let (after, hash) = self.start(chain, last).await?;
        let mut lines = vec![ExportLine::Chain { chain, after, hash }];
        let checkpoints = self.store.checkpoints(chain).await?;
        let inside = checkpoints.into_iter().filter(|one| (after..=last).contains(&one.seq));
        lines.extend(inside.map(ExportLine::Checkpoint));
        self.open = Some(Open { chain, after, last });
        Ok(lines)
    }

    async fn page(&mut self, open: Open) -> Result<Vec<ExportLine>, StoreError> {
        let Open { chain, after, last } = open;
        let mut page = self.store.records(chain, after, PAGE).await?;
        page.retain(|row| row.seq <= last);
        self.records += page.len() as u64;
        let newest = page.last().map_or(last, |row| row.seq);
        let mut lines: Vec<ExportLine> = page.into_iter().map(ExportLine::Record).collect();
        if newest > after && newest < last {
            self.open = Some(Open { chain, after: newest, last });
        } else {
            lines.push(ExportLine::End { chain, seq: last });
        }
        Ok(lines)
    }

    /// Number and hash of the record before the first one.
    async fn start(&self, chain: u64, last: u64) -> Result<(u64, String), StoreError> {
        let whole = (0, toolcrib_core::canonical_json::hex(&genesis(chain)));
        let before = match self.from {
            ExportFrom::Beginning => return Ok(whole),
            ExportFrom::Number(number) => number.saturating_sub(1).min(last),
            ExportFrom::Time(time) => self.before_time(chain, last, time).await?,
        };
        let found = self.store.records(chain, before.saturating_sub(1), 1).await?;
        // What was taken out cannot be begun after; the verification of the whole export names it.
        let found = found.into_iter().find(|row| row.seq == before);
        Ok(found.map_or(whole, |row| (row.seq, row.hash)))
    }

    /// Number of the last record before the first one of this time or later. Clocks are put back:
    /// the first one counts, whatever follows it.
    async fn before_time(&self, chain: u64, last: u64, time: i64) -> Result<u64, StoreError> {
        let is_late = |row: &&AuditRow| {
            serde_json::from_str::<AuditEvent>(&row.text).is_ok_and(|event| event.at >= time)
        };
        let mut after = 0;
        loop {
            let page = self.store.records(chain, after, PAGE).await?;
            let first = page.iter().filter(|row| row.seq <= last).find(is_late);
            match (first, page.last()) {
                (Some(first), _) => return Ok(first.seq.saturating_sub(1)),
                (None, Some(newest)) if newest.seq > after && newest.seq < last => {
                    after = newest.seq;
                }
                (None, _) => return Ok(last),
            }
        }
    }
}
