//! Audit checkpoints: signs the newest audit record with a key outside the database and appends
//! each checkpoint to an anchor file outside it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use toolcrib_core::audit::{CHECKPOINT_RECORDS, CHECKPOINT_SECONDS, LOCAL_CHAIN};
use toolcrib_core::{
    AuditCheckpoint, AuditSigner, Clock as _, StoreError, SystemClock, canonical_json,
};

use crate::error::{Failure, io_failed};
use crate::tables::audit;

/// Signs checkpoints. The signer runs inside the transaction that stores the checkpoint, so the
/// write lock fixes the order of everything before it.
pub(crate) struct CheckpointSigner {
    signer: Arc<dyn AuditSigner>,
    /// Each checkpoint is appended to this file as one JSON line.
    anchors: Option<PathBuf>,
    key: String,
    /// Number of the newest record that this process knows to be signed.
    covered: Option<u64>,
    /// When `covered` was last checked.
    since: Instant,
}

impl CheckpointSigner {
    pub(crate) fn new(signer: Arc<dyn AuditSigner>, anchors: Option<PathBuf>) -> Self {
        let key = signer.public_key();
        Self { signer, anchors, key, covered: None, since: Instant::now() }
    }

    /// Returns whether a checkpoint is due: enough unsigned records, or any unsigned record after
    /// an interval or when `now` is set.
    pub(crate) fn is_due(&mut self, conn: &Connection, now: bool) -> Result<bool, Failure> {
        let newest = audit::head(conn)?.map_or(0, |(seq, _)| seq);
        let covered = match self.covered {
            Some(covered) => covered,
            None => audit::covered(conn)?,
        };
        self.covered = Some(covered);
        if newest <= covered {
            // The interval counts from the first record that is not signed.
            self.since = Instant::now();
            return Ok(false);
        }
        let late = self.since.elapsed() >= Duration::from_secs(CHECKPOINT_SECONDS);
        Ok(now || late || newest - covered >= CHECKPOINT_RECORDS)
    }

    /// Signs the newest record, inside the transaction of the caller. Another process may have
    /// signed it already.
    pub(crate) fn sign(
        &mut self,
        conn: &Connection,
        now: bool,
    ) -> Result<Option<AuditCheckpoint>, Failure> {
        self.covered = None;
        if !self.is_due(conn, now)? {
            return Ok(None);
        }
        let Some((seq, hash)) = audit::head(conn)? else { return Ok(None) };
        let (head, at) = (canonical_json::hex(&hash), SystemClock.now_ms());
        let signed = AuditCheckpoint::signing_payload(LOCAL_CHAIN, seq, &head, at);
        let signature = self.signer.sign(signed.as_bytes());
        let key = self.key.clone();
        let made = AuditCheckpoint { chain: LOCAL_CHAIN, seq, head, at, key, signature };
        audit::put_checkpoint(conn, &made)?;
        // Read again later: this transaction may still be rolled back.
        self.covered = None;
        self.since = Instant::now();
        Ok(Some(made))
    }

    /// Appends a committed checkpoint to the anchor file.
    pub(crate) fn anchor(&self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        let Some(path) = &self.anchors else { return Ok(()) };
        let line = serde_json::to_string(made).map_err(|e| StoreError::Failed(e.to_string()))?;
        append_line(path, &line)
            .map_err(|e| io_failed("a checkpoint of the audit cannot be added to the anchors", &e))
    }
}

/// Appends a line in one write, after any partial line of a process that died while writing.
fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    let gap = if ends_in_a_line(&mut file)? { "" } else { "\n" };
    file.write_all(format!("{gap}{line}\n").as_bytes())
}

fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchors");
        append_line(&path, "one").unwrap();
        append_line(&path, "two").unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"cu").unwrap();
        append_line(&path, "three").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\ncu\nthree\n");
    }
}
