//! Signs how far the audit has grown, with a key that is not in the database, and writes that down outside of it too.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use toolcrib_core::audit::{CHECKPOINT_RECORDS, CHECKPOINT_SECONDS, LOCAL_CHAIN};
use toolcrib_core::{AuditCheckpoint, AuditSigner, Clock as _, StoreError, SystemClock, canonical};

use crate::error::{Failure, io_failed};
use crate::rows::audit;

/// Signs checkpoints. The signer is called inside the transaction that keeps the checkpoint: everything before it is then of one order.
pub(crate) struct Notary {
    signer: Arc<dyn AuditSigner>,
    /// One JSON line for each checkpoint is added here.
    anchors: Option<PathBuf>,
    key: String,
    /// Number of the newest record that this process knows to be signed.
    covered: Option<u64>,
    /// When that was looked at last.
    since: Instant,
}

impl Notary {
    pub(crate) fn new(signer: Arc<dyn AuditSigner>, anchors: Option<PathBuf>) -> Self {
        let key = signer.public_key();
        Self { signer, anchors, key, covered: None, since: Instant::now() }
    }

    /// Whether there are enough new records, or any at all after some time or `now`.
    pub(crate) fn is_due(&mut self, conn: &Connection, now: bool) -> Result<bool, Failure> {
        let newest = audit::head(conn)?.map_or(0, |(seq, _)| seq);
        let covered = match self.covered {
            Some(covered) => covered,
            None => audit::covered(conn)?,
        };
        self.covered = Some(covered);
        if newest <= covered {
            // Time counts from the first record that is not signed yet.
            self.since = Instant::now();
            return Ok(false);
        }
        let late = self.since.elapsed() >= Duration::from_secs(CHECKPOINT_SECONDS);
        Ok(now || late || newest - covered >= CHECKPOINT_RECORDS)
    }

    /// Signs the newest record, inside the transaction of the caller; another process may have been faster.
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
        let (head, at) = (canonical::hex(&hash), SystemClock.now_ms());
        let signed = AuditCheckpoint::signed(LOCAL_CHAIN, seq, &head, at);
        let signature = self.signer.sign(signed.as_bytes());
        let key = self.key.clone();
        let made = AuditCheckpoint { chain: LOCAL_CHAIN, seq, head, at, key, signature };
        audit::put_checkpoint(conn, &made)?;
        // Looked up again when it is known whether this was committed.
        self.covered = None;
        self.since = Instant::now();
        Ok(Some(made))
    }

    /// Writes a checkpoint down outside the database, when it is committed.
    pub(crate) fn anchor(&self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        let Some(path) = &self.anchors else { return Ok(()) };
        let line = serde_json::to_string(made).map_err(|e| StoreError::Failed(e.to_string()))?;
        append_line(path, &line)
            .map_err(|e| io_failed("a checkpoint of the audit cannot be added to the anchors", &e))
    }
}

/// Adds a line in one write, after whatever a process that died has left of its own.
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
