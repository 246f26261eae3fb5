//! SQLite: run checkpoints: a run with its messages, queued without waiting for the commit.

use toolcrib_core::{
    BoxFuture, ConversationAndRunStore, RunId, StoreError, StoredMessage, StoredRun,
};

use super::conversations::put_messages;
use super::runs;
use crate::sqlite::SqliteStore;

impl ConversationAndRunStore for SqliteStore {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        self.queue(run.id, runs::durability(&run), move |conn| {
            runs::put(conn, &run)?;
            put_messages(conn, run.conversation, &messages)
        });
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flush_run(run)
    }
}
