//! Runs with their messages, queued.

use toolcrib_core::{BoxFuture, Checkpoints, RunId, StoreError, StoredMessage, StoredRun};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Done, Job, Tx};
use super::conversations::put_messages;
use super::runs;
use crate::writer::Survives;

impl Checkpoints for PostgresStore {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        self.queue_for(run.id, Checkpoint { run, messages });
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flushed(run)
    }
}

struct Checkpoint {
    run: StoredRun,
    messages: Vec<StoredMessage>,
}

impl Job for Checkpoint {
    type Answer = ();

    fn survives(&self) -> Survives {
        runs::survives(&self.run)
    }

    fn begins_with(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<()>, Failure>> {
        Box::pin(async move {
            runs::put(tx, &self.run).await?;
            if !self.messages.is_empty() {
                put_messages(tx, self.run.conversation, &self.messages).await?;
            }
            Ok(Done::quiet(()))
        })
    }
}
