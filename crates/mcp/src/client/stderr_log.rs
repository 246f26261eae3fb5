//! Log of a server's standard error: the end in memory, more of it in a file.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes kept in memory.
const KEPT: usize = 64 * 1024;
/// Size at which the file is rotated; the previous one is kept as `.1`.
const FILE: u64 = 1 << 20;

/// The log of one server.
pub(crate) struct StderrLog {
    tail: Mutex<VecDeque<u8>>,
    /// Total bytes written.
    written: AtomicU64,
    file: Option<PathBuf>,
}

impl StderrLog {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { tail: Mutex::default(), written: AtomicU64::new(0), file }
    }

    /// Returns the end of the log.
    pub(crate) fn tail(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// Returns a position in the log, for [`Self::since`].
    pub(crate) fn length(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the text since a position, as far as it is stored.
    pub(crate) fn since(&self, position: u64) -> String {
        let new = usize::try_from(self.length().saturating_sub(position)).unwrap_or(usize::MAX);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let old = tail.len().saturating_sub(new);
        String::from_utf8_lossy(&tail.iter().skip(old).copied().collect::<Vec<u8>>()).into_owned()
    }

    /// Adds a line of our own.
    pub(crate) fn push_line(&self, line: &str) {
        self.write(format!("[toolcrib] {line}\n").as_bytes());
    }

    fn write(&self, bytes: &[u8]) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let beyond = tail.len().saturating_sub(KEPT);
        tail.drain(..beyond);
        drop(tail);
        // A log that cannot be written must not fail a call.
        let _ = self.write_file(bytes);
    }

    fn write_file(&self, bytes: &[u8]) -> std::io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        if std::fs::metadata(path).is_ok_and(|file| file.len() >= FILE) {
            std::fs::rename(path, path.with_extension("log.1"))?;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
    }

    /// Reads standard error until it closes; the server never blocks on it.
    pub(crate) async fn read_stderr(&self, mut stderr: impl AsyncRead + Unpin) {
        let mut bytes = vec![0; 8192];
        while let Ok(n @ 1..) = stderr.read(&mut bytes).await {
            self.write(bytes.get(..n).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let log = StderrLog::new(Some(folder.path().join("s.log")));
        let flood = vec![b'x'; 3 << 20];
        log.read_stderr(&flood[..]).await;
        log.push_line("end");
        assert!(log.tail().len() <= KEPT);
        assert!(log.tail().ends_with("[toolcrib] end\n"));
        let sizes: u64 = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(sizes <= 2 * FILE + 16384, "{sizes}");
    }
}
