//! WAL checkpoints on a thread with its own connection, concurrent with the writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::connection;
use crate::error::{is_disk_failure, sqlite_failed};
use crate::health::Health;
use crate::integrity::BackgroundCheck;

/// Log pages from which a checkpoint starts (4 MiB, SQLite's own default).
const CHECKPOINT_PAGES: i32 = 1_000;
/// Log pages from which the writer runs one checkpoint itself (64 MiB). A checkpoint concurrent
/// with a writer that never pauses does not reach the newest page, and the log restarts only after
/// that.
const MAX_WAL_PAGES: i32 = 16_000;

/// Time between two checks of all pages: damage is found before all backups of a week contain it.
const CHECK_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// Starts the thread and lets the writer's connection notify it. The thread also checks the pages
/// of the database, first after `check_after`, and ends when the connection is closed.
pub(crate) fn start_checkpointer(
    writer: &mut Connection,
    path: PathBuf,
    health: Arc<Health>,
    check_after: Duration,
) -> io::Result<JoinHandle<()>> {
    let (call, calls) = sync_channel(1);
    let noted = Arc::clone(&health);
    let mut folded_at = 0;
    let hook = move |wal: &mut Wal, pages: i32| {
        if pages < folded_at {
            // The log has restarted.
            folded_at = 0;
        }
        if pages - folded_at >= CHECKPOINT_PAGES {
            folded_at = pages;
            if pages >= MAX_WAL_PAGES {
                note(&noted, wal.checkpoint());
            } else {
                // Channel full: the thread has already been notified.
                let _ = call.try_send(());
            }
        }
        // The commit succeeded, whatever happens to the log.
        Ok(())
    };
    writer.wal_hook(Some(hook)).map_err(io::Error::other)?;
    let run = move || checkpoint_loop(&path, &calls, &health, check_after);
    std::thread::Builder::new().name("toolcrib-wal".into()).spawn(run)
}

fn checkpoint_loop(path: &Path, calls: &Receiver<()>, health: &Arc<Health>, check_after: Duration) {
    let mut conn = None;
    let mut check_at = Instant::now() + check_after;
    let mut check: Option<BackgroundCheck> = None;
    loop {
        match calls.recv_timeout(check_at.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => {
                check_at = Instant::now() + CHECK_INTERVAL;
                // The previous check has ended long ago: its limit is far shorter than the
                // interval.
                drop(check.take());
                check = BackgroundCheck::start(path, Arc::clone(health)).ok();
                continue;
            }
            // Dropping the check ends it, before the files are closed.
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if conn.is_none() {
            conn = connection::wal_checkpointer(path).ok();
        }
        if let Some(conn) = &conn {
            note(health, conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        }
    }
}

/// Handles a checkpoint's result: a busy checkpoint is retried later; a disk failure is permanent.
fn note(health: &Health, folded: rusqlite::Result<()>) {
    if let Err(error) = folded
        && is_disk_failure(&error)
    {
        health.fail(sqlite_failed(&error));
    }
}
