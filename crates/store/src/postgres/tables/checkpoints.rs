//! Postgres: run checkpoints: a run with its messages, queued without waiting for the commit.

use toolcrib_core::{
    BoxFuture, ConversationAndRunStore, RunId, StoreError, StoredMessage, StoredRun,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::conversations::put_messages;
use super::runs;
use crate::writer::Durability;

impl ConversationAndRunStore for PostgresStore {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        self.queue_for(run.id, Checkpoint { run, messages });
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flush_run(run)
    }
}

struct Checkpoint {
    run: StoredRun,
    messages: Vec<StoredMessage>,
}

impl Job for Checkpoint {
    type Answer = ();

    fn durability(&self) -> Durability {
        runs::durability(&self.run)
    }

    fn outlives_outage(&self) -> bool {
        true
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            runs::put(tx, &self.run).await?;
            if !self.messages.is_empty() {
                put_messages(tx, self.run.conversation, &self.messages).await?;
            }
            Ok(JobOutput::unaudited(()))
        })
    }
}
