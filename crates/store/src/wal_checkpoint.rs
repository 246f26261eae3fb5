//! WAL checkpoints on a thread with its own connection, beside the writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::connection;
use crate::disk_reserve::DiskReserve;
use crate::error::{is_disk_failure, sqlite_failed};
use crate::health::Health;

/// Log pages from which a checkpoint starts (4 MiB, SQLite's own default).
const CHECKPOINT_PAGES: i32 = 1_000;
/// Log pages from which the writer runs one checkpoint itself (64 MiB). A checkpoint beside a
/// writer that never pauses does not reach the newest page, and the log restarts only after that.
const MAX_WAL_PAGES: i32 = 16_000;

/// Starts the thread and lets the writer's connection notify it. The thread first creates the disk
/// reserve, and ends when the connection is closed.
pub(crate) fn start_checkpointer(
    writer: &mut Connection,
    path: PathBuf,
    health: Arc<Health>,
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
                // Channel full: the thread is notified already.
                let _ = call.try_send(());
            }
        }
        // The commit succeeded, whatever happens to the log.
        Ok(())
    };
    writer.wal_hook(Some(hook)).map_err(io::Error::other)?;
    let run = move || {
        let reserve = DiskReserve::for_database(&path);
        // Without space there is no reserve.
        let _ = reserve.create();
        checkpoint_loop(&path, &calls, &health);
    };
    std::thread::Builder::new().name("toolcrib-wal".into()).spawn(run)
}

fn checkpoint_loop(path: &Path, calls: &Receiver<()>, health: &Health) {
    let mut conn = None;
    while calls.recv().is_ok() {
        if conn.is_none() {
            conn = connection::wal_checkpointer(path).ok();
        }
        if let Some(conn) = &conn {
            note(health, conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        }
    }
}

/// A busy checkpoint is retried later; a disk failure is permanent.
fn note(health: &Health, folded: rusqlite::Result<()>) {
    if let Err(error) = folded
        && is_disk_failure(&error)
    {
        health.fail(sqlite_failed(&error));
    }
}
