//! Runs with their messages, queued.

use toolcrib_core::{BoxFuture, Checkpoints, RunId, StoreError, StoredMessage, StoredRun};

use super::conversations::put_messages;
use super::runs;
use crate::store::SqliteStore;

impl Checkpoints for SqliteStore {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        self.queue(run.id, runs::survives(&run), move |conn| {
            runs::put(conn, &run)?;
            put_messages(conn, run.conversation, &messages)
        });
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flushed(run)
    }
}
