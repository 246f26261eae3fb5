//! Former contents that one journal entry stores: at most 64 MB.

use rustix::fs::Stat;

use super::bounded_read;
use super::error::FsErrorKind;
use super::resolve::{NodeKind, ResolvedPath};
use super::snapshot::{Snapshot, link_text, mode_of};
use super::undo_journal::{ENTRY_BYTES, JournalError, JournalLock};

/// The former contents that one entry has stored.
#[derive(Debug, Default)]
pub(super) struct FormerContent {
    bytes: u64,
    /// Why the entry cannot be undone.
    lost: Option<String>,
}

impl FormerContent {
    /// Returns why the entry cannot be undone; `None` if it can.
    pub(super) fn lost(&self) -> Option<&String> {
        self.lost.as_ref()
    }

    /// Stores the current state of a path; returns the snapshot, unless the content is too large,
    /// and the status.
    pub(super) fn keep_state(
        &mut self,
        ledger: Option<&JournalLock<'_>>,
        spot: &ResolvedPath,
    ) -> Result<(Option<Snapshot>, Stat), FsErrorKind> {
        match spot.node {
            Some(NodeKind::File) => {}
            Some(NodeKind::Link) => {
                return Ok((Some(Snapshot::Link { target: link_text(spot)? }), spot.stat()?));
            }
            Some(NodeKind::Dir) => {
                let stat = spot.stat()?;
                return Ok((Some(Snapshot::Dir { mode: mode_of(&stat) }), stat));
            }
            Some(NodeKind::Special(what)) => return Err(FsErrorKind::Special(what)),
            None => return Err(FsErrorKind::Changed),
        }
        match bounded_read::read_bounded(spot, ENTRY_BYTES.saturating_sub(self.bytes)) {
            Ok((content, stat)) => Ok((self.keep(ledger, &content, &stat)?, stat)),
            Err(FsErrorKind::TooLarge(_)) => {
                self.mark_lost();
                Ok((None, spot.stat()?))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Stores content that is already in memory; `None` if the entry would exceed its limit.
    pub(super) fn keep(
        &mut self,
        ledger: Option<&JournalLock<'_>>,
        content: &[u8],
        stat: &Stat,
    ) -> Result<Option<Snapshot>, JournalError> {
        let snapshot = Snapshot::file(content, mode_of(stat));
        self.bytes += content.len() as u64;
        if self.bytes > ENTRY_BYTES {
            self.mark_lost();
            return Ok(None);
        }
        if let (Some(ledger), Snapshot::File { sha256, .. }) = (ledger, &snapshot) {
            ledger.store_blob(sha256, content)?;
        }
        Ok(Some(snapshot))
    }

    pub(super) fn mark_lost(&mut self) {
        self.lost = Some(format!(
            "the former content is larger than {} MB, which is not kept",
            ENTRY_BYTES / (1024 * 1024)
        ));
    }
}
