//! SQLite: deleted conversations that can be restored. Their rows are in tables of their own, so
//! that no other query has to leave them out.

use rusqlite::{Connection, OptionalExtension as _};
use toolcrib_core::{DeletedConversation, StoreError};

use super::at_most;
use super::conversations::conversation;
use crate::error::Failure;

const IS_OF: &str = "SELECT EXISTS (SELECT 1 FROM conversations WHERE id = ?1 AND owner = ?2)";
const OPEN_RUN: &str = "SELECT id FROM runs WHERE conversation = ?1 AND status <> 'ended' LIMIT 1";

const TRASH: &str = "INSERT INTO deleted_conversations
    (id, owner, title, agent, workspace, created_at, updated_at, deleted_at)
    SELECT id, owner, title, agent, workspace, created_at, updated_at, ?2
    FROM conversations WHERE id = ?1";
/// Copies what depends on a conversation.
const TRASH_DEPENDENT: [&str; 2] = [
    "INSERT INTO deleted_messages (conversation, seq, run, body, created_at)
    SELECT conversation, seq, run, body, created_at FROM messages WHERE conversation = ?1",
    "INSERT INTO deleted_runs
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    SELECT id, conversation, owner, context, status, state, epoch, created_at, updated_at
    FROM runs WHERE conversation = ?1",
];
/// Deletes a conversation: dependent rows first.
const DELETE: [&str; 3] = [
    "DELETE FROM messages WHERE conversation = ?1",
    "DELETE FROM runs WHERE conversation = ?1",
    "DELETE FROM conversations WHERE id = ?1",
];

/// `OR IGNORE`: an id that is in use again is not overwritten.
const RESTORE: &str = "INSERT OR IGNORE INTO conversations
    (id, owner, title, agent, workspace, created_at, updated_at)
    SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM deleted_conversations WHERE id = ?1 AND owner = ?2";
/// Copies back what depends on a conversation.
const RESTORE_DEPENDENT: [&str; 2] = [
    "INSERT INTO messages (conversation, seq, run, body, created_at)
    SELECT conversation, seq, run, body, created_at FROM deleted_messages WHERE conversation = ?1",
    "INSERT INTO runs
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    SELECT id, conversation, owner, context, status, state, epoch, created_at, updated_at
    FROM deleted_runs WHERE conversation = ?1",
];

const LIST: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at, deleted_at
    FROM deleted_conversations WHERE owner = ?1 ORDER BY deleted_at DESC, id DESC LIMIT ?2";
/// Messages and runs go with their conversation (`ON DELETE CASCADE`).
const FORGET: &str = "DELETE FROM deleted_conversations WHERE id = ?1 AND owner = ?2";
const PURGE: &str = "DELETE FROM deleted_conversations WHERE deleted_at < ?1";

pub(super) fn trash(conn: &Connection, owner: &str, id: &str, at: i64) -> Result<(), Failure> {
    check_deletable(conn, owner, id)?;
    conn.prepare_cached(TRASH)?.execute((id, at))?;
    for statement in TRASH_DEPENDENT.iter().chain(&DELETE) {
        conn.prepare_cached(statement)?.execute([id])?;
    }
    Ok(())
}

pub(super) fn restore(conn: &Connection, owner: &str, id: &str) -> Result<(), Failure> {
    if conn.prepare_cached(RESTORE)?.execute((id, owner))? == 0 {
        return Err(StoreError::Missing(id.to_owned()).into());
    }
    for statement in RESTORE_DEPENDENT {
        conn.prepare_cached(statement)?.execute([id])?;
    }
    conn.prepare_cached(FORGET)?.execute((id, owner))?;
    Ok(())
}

pub(super) fn list(
    conn: &Connection,
    owner: &str,
    limit: usize,
) -> Result<Vec<DeletedConversation>, Failure> {
    conn.prepare_cached(LIST)?
        .query_and_then((owner, at_most(limit)), |row| {
            Ok(DeletedConversation { conversation: conversation(row)?, deleted_at: row.get(7)? })
        })?
        .collect()
}

pub(super) fn purge(conn: &Connection, before: i64) -> Result<(), Failure> {
    conn.prepare_cached(PURGE)?.execute([before])?;
    Ok(())
}

/// Deletes a conversation for good, whether it was deleted before or not.
pub(super) fn delete(conn: &Connection, owner: &str, id: &str) -> Result<(), Failure> {
    if conn.prepare_cached(FORGET)?.execute((id, owner))? > 0 {
        return Ok(());
    }
    check_deletable(conn, owner, id)?;
    for statement in DELETE {
        conn.prepare_cached(statement)?.execute([id])?;
    }
    Ok(())
}

fn check_deletable(conn: &Connection, owner: &str, id: &str) -> Result<(), Failure> {
    if !conn.prepare_cached(IS_OF)?.query_row((id, owner), |row| row.get(0))? {
        return Err(StoreError::Missing(id.to_owned()).into());
    }
    let open = conn.prepare_cached(OPEN_RUN)?.query_row([id], |row| row.get(0)).optional()?;
    open.map_or(Ok(()), |run| Err(StoreError::Conflict(run).into()))
}
