//! Postgres: deleted conversations that can be restored. Their rows are in tables of their own, so
//! that no other query has to leave them out.

use tokio_postgres::Row;
use toolcrib_core::{BoxFuture, DeletedConversation, StoreError};

use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::conversations::conversation;
use super::text;

/// Locks the conversation, so that no message is added meanwhile.
const HOLD: &str = "SELECT id FROM conversations WHERE id = $1 AND owner = $2 FOR UPDATE";
const OPEN_RUN: &str = "SELECT id FROM runs WHERE conversation = $1 AND status <> 'ended' LIMIT 1";

const TRASH: &str = "INSERT INTO deleted_conversations
    (id, owner, title, agent, workspace, created_at, updated_at, deleted_at)
    SELECT id, owner, title, agent, workspace, created_at, updated_at, $2
    FROM conversations WHERE id = $1";
/// Copies what depends on a conversation.
const TRASH_DEPENDENT: [&str; 2] = [
    "INSERT INTO deleted_messages (conversation, seq, run, body, created_at)
    SELECT conversation, seq, run, body, created_at FROM messages WHERE conversation = $1",
    "INSERT INTO deleted_runs
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    SELECT id, conversation, owner, context, status, state, epoch, created_at, updated_at
    FROM runs WHERE conversation = $1 AND status = 'ended'",
];
/// Deletes a conversation: dependent rows first.
const DELETE: [&str; 3] = [
    "DELETE FROM messages WHERE conversation = $1",
    "DELETE FROM runs WHERE conversation = $1 AND status = 'ended'",
    "DELETE FROM conversations WHERE id = $1",
];

/// An id that is in use again is not overwritten.
const RESTORE: &str = "INSERT INTO conversations
    (id, owner, title, agent, workspace, created_at, updated_at)
    SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM deleted_conversations WHERE id = $1 AND owner = $2
    ON CONFLICT (id) DO NOTHING";
/// Copies back what depends on a conversation.
const RESTORE_DEPENDENT: [&str; 2] = [
    "INSERT INTO messages (conversation, seq, run, body, created_at)
    SELECT conversation, seq, run, body, created_at FROM deleted_messages WHERE conversation = $1",
    "INSERT INTO runs
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    SELECT id, conversation, owner, context, status, state, epoch, created_at, updated_at
    FROM deleted_runs WHERE conversation = $1",
];

pub(super) const LIST: &str = "SELECT
    id, owner, title, agent, workspace, created_at, updated_at, deleted_at
    FROM deleted_conversations WHERE owner = $1 ORDER BY deleted_at DESC, id DESC LIMIT $2";
/// Messages and runs go with their conversation (`ON DELETE CASCADE`).
const FORGET: &str = "DELETE FROM deleted_conversations WHERE id = $1 AND owner = $2";
/// Removes for good what was deleted before a time.
pub(super) const PURGE: &str = "DELETE FROM deleted_conversations WHERE deleted_at < $1";

pub(super) fn deleted(row: &Row) -> Result<DeletedConversation, Failure> {
    Ok(DeletedConversation { conversation: conversation(row)?, deleted_at: row.try_get(7)? })
}

/// Locks a conversation of this owner that has no open run.
async fn hold_deletable(tx: &Tx<'_>, owner: &str, id: &String) -> Result<(), Failure> {
    if tx.link.query_optional(HOLD, &[id, &escape(owner)]).await?.is_none() {
        return Err(StoreError::Missing(id.clone()).into());
    }
    match tx.link.query_optional(OPEN_RUN, &[id]).await? {
        Some(run) => Err(StoreError::Conflict(text(&run, 0)?).into()),
        None => Ok(()),
    }
}

/// Deletes a conversation so that it can be restored.
pub(super) struct Trash {
    pub(super) owner: String,
    pub(super) id: String,
    pub(super) at: i64,
}

impl Job for Trash {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            hold_deletable(tx, &self.owner, &self.id).await?;
            tx.link.execute(TRASH, &[&self.id, &self.at]).await?;
            for statement in TRASH_DEPENDENT.into_iter().chain(DELETE) {
                tx.link.execute(statement, &[&self.id]).await?;
            }
            Ok(JobOutput::unaudited(()))
        })
    }
}

/// Restores a deleted conversation.
pub(super) struct Restore {
    pub(super) owner: String,
    pub(super) id: String,
}

impl Job for Restore {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let owner = escape(&self.owner);
            if tx.link.execute(RESTORE, &[&self.id, &owner]).await? == 0 {
                return Err(StoreError::Missing(self.id.clone()).into());
            }
            for statement in RESTORE_DEPENDENT {
                tx.link.execute(statement, &[&self.id]).await?;
            }
            tx.link.execute(FORGET, &[&self.id, &owner]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

/// Deletes a conversation for good, whether it was deleted before or not.
pub(super) struct Delete {
    pub(super) owner: String,
    pub(super) id: String,
}

impl Job for Delete {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            if tx.link.execute(FORGET, &[&self.id, &escape(&self.owner)]).await? > 0 {
                return Ok(JobOutput::unaudited(()));
            }
            hold_deletable(tx, &self.owner, &self.id).await?;
            for statement in DELETE {
                tx.link.execute(statement, &[&self.id]).await?;
            }
            Ok(JobOutput::unaudited(()))
        })
    }
}
