//! Checks that the pages of a database are consistent: immediately after an unclean end, and in the
//! background of a process that keeps the store open. Otherwise damage of a page that no read
//! touches would be found only when every backup contains it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use crate::connection;
use crate::error::{damaged, is_disk_failure, sqlite_failed};
use crate::health::Health;

/// Virtual machine steps and pages between two calls of the progress handler: well below a
/// millisecond.
const STEPS: i32 = 500;
/// Working time of a background check between two pauses, so that it uses a tenth of one core and
/// of the disk.
const WORK: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_millis(45);
/// A check in the background ends after this time at the latest: about 20 GB of pages.
const LONGEST: Duration = Duration::from_secs(600);
/// A check at the start after an unclean end, for which a command waits. A larger database is
/// checked in the background.
const LONGEST_AT_START: Duration = Duration::from_secs(2);

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Every page is consistent.
    Sound,
    /// The first problem.
    Damaged(String),
    /// The check was stopped before its end.
    Unfinished,
}

/// Checks the pages as long as `goes_on` returns `true`.
fn check(
    conn: &mut Connection,
    mut goes_on: impl FnMut() -> bool + Send + 'static,
) -> rusqlite::Result<Pages> {
    conn.progress_handler(STEPS, Some(move || !goes_on()))?;
    let found: rusqlite::Result<String> =
        conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    conn.progress_handler(STEPS, None::<fn() -> bool>)?;
    match found {
        Ok(found) if found == "ok" => Ok(Pages::Sound),
        Ok(problem) => Ok(Pages::Damaged(problem)),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Ok(Pages::Unfinished),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Ok(Pages::Damaged(error.to_string()))
            }
            _ => Err(error),
        },
    }
}

/// Verifies a database after an unclean end: the content of its log reaches the file and the disk,
/// and its pages are consistent. A failed sync may have dropped pages that can still be read, so
/// they are written again.
pub(crate) fn check_after_unclean_end(conn: &mut Connection) -> rusqlite::Result<Pages> {
    conn.execute_batch("PRAGMA synchronous = FULL")?;
    // Passive: another process folds the pages that it still reads.
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    let start = Instant::now();
    check(conn, move || start.elapsed() < LONGEST_AT_START)
}

/// A check on a separate thread. Dropping it stops the check and waits for its end.
pub(crate) struct BackgroundCheck {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundCheck {
    /// Starts the check. Damage makes the store refuse writes: its content is no longer evidence.
    pub(crate) fn start(path: &Path, health: Arc<Health>) -> io::Result<Self> {
        let stop = Arc::<AtomicBool>::default();
        let (path, stopped) = (path.to_owned(), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("toolcrib-check".into())
            .spawn(move || run(&path, stopped, &health))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for BackgroundCheck {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic was reported; the store works without the check.
            let _ = thread.join();
        }
    }
}

fn run(path: &Path, stop: Arc<AtomicBool>, health: &Health) {
    let start = Instant::now();
    let mut worked_since = start;
    let goes_on = move || {
        if worked_since.elapsed() >= WORK {
            std::thread::sleep(PAUSE);
            worked_since = Instant::now();
        }
        !stop.load(Ordering::Acquire) && start.elapsed() < LONGEST
    };
    // If the reader cannot be opened now, the next check tries again.
    match connection::reader(path).and_then(|mut conn| check(&mut conn, goes_on)) {
        Ok(Pages::Damaged(problem)) => health.fail(damaged(&problem)),
        Err(error) if is_disk_failure(&error) => health.fail(sqlite_failed(&error)),
        Ok(Pages::Sound | Pages::Unfinished) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_says_what_it_found_or_that_it_was_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.db");
        let mut conn = Connection::open(&path).unwrap();
        conn.execute_batch(
            "CREATE TABLE t (x); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
            LIMIT 20000) INSERT INTO t SELECT hex(randomblob(100)) FROM n; CREATE INDEX i ON t (x);",
        )
        .unwrap();
        assert_eq!(check(&mut conn, || true).unwrap(), Pages::Sound);
        assert_eq!(check(&mut conn, || false).unwrap(), Pages::Unfinished);
        drop(conn);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2 / 4096 * 4096;
        bytes[middle..middle + 4096].fill(0xff);
        std::fs::write(&path, bytes).unwrap();
        let mut conn = Connection::open(&path).unwrap();
        let found = check(&mut conn, || true).unwrap();
        assert!(matches!(found, Pages::Damaged(_)), "{found:?}");
    }
}
