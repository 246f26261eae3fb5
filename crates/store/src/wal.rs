//! Folds the log into the file, beside the writer: a thread with a connection of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::error::{is_disk_failure, sqlite_failed};
use crate::file;
use crate::health::Health;
use crate::reserve::Reserve;

/// Pages of the log from which it is folded (4 MiB, as SQLite does by itself).
const FOLD: i32 = 1_000;
/// Pages from which the writer does it itself, once (64 MiB): folding beside a writer that never rests does not reach its newest page, and
/// only then the log begins anew.
const TOO_LONG: i32 = 16_000;

/// Starts the thread, and lets the writer's connection call it. It ends when that connection is closed. It makes the reserve first.
pub(crate) fn fold_beside(
    writer: &mut Connection,
    path: PathBuf,
    health: Arc<Health>,
) -> io::Result<JoinHandle<()>> {
    let (call, calls) = sync_channel(1);
    let noted = Arc::clone(&health);
    let mut folded_at = 0;
    let hook = move |wal: &mut Wal, pages: i32| {
        if pages < folded_at {
            // The log has begun anew.
            folded_at = 0;
        }
        if pages - folded_at >= FOLD {
            folded_at = pages;
            if pages >= TOO_LONG {
                note(&noted, wal.checkpoint());
            } else {
                // Full: it was called before, and has not begun yet.
                let _ = call.try_send(());
            }
        }
        // The commit has happened, whatever became of the log.
        Ok(())
    };
    writer.wal_hook(Some(hook)).map_err(io::Error::other)?;
    let run = move || {
        let reserve = Reserve::of(&path);
        // Without room for it there is none to keep.
        let _ = reserve.make();
        fold(&path, &calls, &health);
    };
    std::thread::Builder::new().name("toolcrib-wal".into()).spawn(run)
}

fn fold(path: &Path, calls: &Receiver<()>, health: &Health) {
    let mut conn = None;
    while calls.recv().is_ok() {
        if conn.is_none() {
            conn = file::folder(path).ok();
        }
        if let Some(conn) = &conn {
            note(health, conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        }
    }
}

/// A log that cannot be folded now is folded later; a disk that fails is the end.
fn note(health: &Health, folded: rusqlite::Result<()>) {
    if let Err(error) = folded
        && is_disk_failure(&error)
    {
        health.fail(sqlite_failed(&error));
    }
}
