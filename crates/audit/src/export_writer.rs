//! Writes an export of a whole audit, some lines at a time: the caller requests the next lines, and
//! nothing is buffered.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;

use toolcrib_core::audit::genesis;
use toolcrib_core::{AuditEvent, AuditRow, AuditStore, StoreError};

use super::verify::PAGE;
use super::verify_export::ExportLine;

/// The point at which an export begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFrom {
    /// With the first record of each chain.
    Beginning,
    /// With the record that has this number.
    Number(u64),
    /// With the first record at or after this time, in milliseconds since 1970.
    Time(i64),
}

/// An export in progress. Other processes may write meanwhile; records that are newer than its
/// start are not part of it.
pub struct Exporter<'a> {
    store: &'a dyn AuditStore,
    from: ExportFrom,
    /// Chains that are not exported yet, with the number of the last record of each.
    chains: VecDeque<(u64, u64)>,
    open: Option<Open>,
    records: u64,
}

/// The chain that is being exported.
struct Open {
    chain: u64,
    /// Number of the last record that is written.
    after: u64,
    /// Number of the last record to write.
    last: u64,
}

impl<'a> Exporter<'a> {
    /// Starts the export: looks up the chains and the current length of each.
    ///
    /// # Errors
    /// The store's error.
    pub async fn new(store: &'a dyn AuditStore, from: ExportFrom) -> Result<Self, StoreError> {
        let chains = store.chains().await?.into();
        Ok(Self { store, from, chains, open: None, records: 0 })
    }

    /// Returns the number of records returned so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the next lines; `None` at the end.
    ///
    /// # Errors
    /// The store's error.
    pub async fn next(&mut self) -> Result<Option<Vec<ExportLine>>, StoreError> {
        match self.open.take() {
            Some(open) => self.page(open).await.map(Some),
            None => match self.chains.pop_front() {
                Some((chain, last)) => self.begin(chain, last).await.map(Some),
                None => Ok(None),
            },
        }
    }

    /// Returns the header lines of a chain: its start and its checkpoints.
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

    /// Returns number and hash of the record before the first one.
    async fn start(&self, chain: u64, last: u64) -> Result<(u64, String), StoreError> {
        let whole = (0, toolcrib_core::canonical_json::hex(&genesis(chain)));
        let before = match self.from {
            ExportFrom::Beginning => return Ok(whole),
            ExportFrom::Number(number) => number.saturating_sub(1).min(last),
            ExportFrom::Time(time) => self.before_time(chain, last, time).await?,
        };
        let found = self.store.records(chain, before.saturating_sub(1), 1).await?;
        // An export cannot start after a removed record; the verification of the whole export
        // reports it.
        let found = found.into_iter().find(|row| row.seq == before);
        Ok(found.map_or(whole, |row| (row.seq, row.hash)))
    }

    /// Returns the number of the last record before the first one at or after this time. Clocks can
    /// be set back, so the first match counts, regardless of later records.
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
