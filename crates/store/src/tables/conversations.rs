//! SQLite: conversations and their messages.

use rusqlite::{Connection, Row};
use toolcrib_core::{
    BoxFuture, Conversation, ConversationId, ConversationStore, DeletedConversation, RunId,
    StoreError, StoredMessage,
};

use super::{at_most, deleted_conversations as deleted, text};
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const PUT: &str = "INSERT INTO conversations
    (id, owner, title, agent, workspace, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (id) DO UPDATE
    SET title = excluded.title, agent = excluded.agent, workspace = excluded.workspace
    WHERE owner = excluded.owner";
const GET: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE id = ?1";
const LIST: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE owner = ?1 ORDER BY updated_at DESC, id DESC LIMIT ?2";

const LIST_BEFORE: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE owner = ?1 AND (updated_at, id) < (?2, ?3)
    ORDER BY updated_at DESC, id DESC LIMIT ?4";
const TOUCH: &str = "UPDATE conversations SET updated_at = max(updated_at, ?2) WHERE id = ?1";
const LENGTH: &str = "SELECT coalesce(max(seq) + 1, 0) FROM messages WHERE conversation = ?1";
const APPEND: &str = "INSERT INTO messages (conversation, seq, run, body, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5)";
const REPLACE: &str = "UPDATE messages SET body = ?3 WHERE conversation = ?1 AND seq = ?2";
const SINCE: &str = "SELECT seq, run, body, created_at FROM messages
    WHERE conversation = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";

/// Reads the bodies of one run only: a conversation may have thousands of messages.
const OF_RUN: &str = "SELECT seq, run, body, created_at FROM messages
    WHERE conversation = ?1 AND run = ?2 ORDER BY seq";

const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM conversations WHERE id = ?1)";
impl ConversationStore for SqliteStore {
    fn put_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| put(conn, &conversation))
    }

    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| change(conn, &conversation))
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(GET)?;
            let found = statement.query_and_then([id.to_string()], conversation)?.next();
            found.transpose()
        })
    }

    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        let key = (owner.to_owned(), at_most(limit));
        self.read(move |conn| {
            conn.prepare_cached(LIST)?.query_and_then(key, conversation)?.collect()
        })
    }

    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        (updated_at, id): (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        let key = (owner.to_owned(), updated_at, id.to_string(), at_most(limit));
        self.read(move |conn| {
            conn.prepare_cached(LIST_BEFORE)?.query_and_then(key, conversation)?.collect()
        })
    }

    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| {
            put_messages(conn, conversation, &messages)
        })
    }

    fn messages(
        &self,
        conversation: ConversationId,
        since: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        self.messages_page(conversation, since, usize::MAX)
    }

    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let key = (conversation.to_string(), since, at_most(limit));
        self.read(move |conn| conn.prepare_cached(SINCE)?.query_and_then(key, message)?.collect())
    }

    fn messages_of_run(
        &self,
        conversation: ConversationId,
        run: RunId,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let key = (conversation.to_string(), run.to_string());
        self.read(move |conn| conn.prepare_cached(OF_RUN)?.query_and_then(key, message)?.collect())
    }

    fn trash_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
        at: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (owner, id) = (owner.to_owned(), id.to_string());
        // A deleted conversation must not reappear after a power loss.
        self.write(Durability::PowerLoss, move |conn| deleted::trash(conn, &owner, &id, at))
    }

    fn restore_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (owner, id) = (owner.to_owned(), id.to_string());
        self.write(Durability::PowerLoss, move |conn| deleted::restore(conn, &owner, &id))
    }

    fn deleted_conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DeletedConversation>, StoreError>> {
        let owner = owner.to_owned();
        self.read(move |conn| deleted::list(conn, &owner, limit))
    }

    fn purge_conversations(&self, before: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| deleted::purge(conn, before))
    }

    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (owner, id) = (owner.to_owned(), id.to_string());
        self.write(Durability::PowerLoss, move |conn| deleted::delete(conn, &owner, &id))
    }
}

fn put(conn: &Connection, conversation: &Conversation) -> Result<(), Failure> {
    let id = conversation.id.to_string();
    let Conversation { id: _, owner, title, agent, workspace, created_at, updated_at } =
        conversation;
    let row = (&id, owner, title, agent, workspace, created_at, updated_at);
    match conn.prepare_cached(PUT)?.execute(row)? {
        0 => Err(StoreError::Conflict(id).into()),
        _ => Ok(()),
    }
}

/// Updates the metadata, inside the transaction of the caller.
fn change(conn: &Connection, conversation: &Conversation) -> Result<(), Failure> {
    let id = conversation.id.to_string();
    if !conn.prepare_cached(IS_THERE)?.query_row([&id], |row| row.get(0))? {
        return Err(StoreError::Missing(id).into());
    }
    put(conn, conversation)
}

/// Writes messages at their positions, inside the transaction of the caller.
pub(super) fn put_messages(
    conn: &Connection,
    conversation: ConversationId,
    messages: &[StoredMessage],
) -> Result<(), Failure> {
    let id = conversation.to_string();
    let newest = messages.iter().map(|message| message.created_at).max().unwrap_or(i64::MIN);
    if conn.prepare_cached(TOUCH)?.execute((&id, newest))? == 0 {
        return Err(StoreError::Missing(id).into());
    }
    let mut length: i64 = conn.prepare_cached(LENGTH)?.query_row([&id], |row| row.get(0))?;
    for message in messages {
        let body = json::write(&message.body)?;
        match i64::try_from(message.seq) {
            Ok(seq) if seq < length => {
                conn.prepare_cached(REPLACE)?.execute((&id, seq, body))?;
            }
            Ok(seq) if seq == length => {
                let run = message.run.map(|run| run.to_string());
                conn.prepare_cached(APPEND)?.execute((&id, seq, run, body, message.created_at))?;
                length += 1;
            }
            _ => {
                let gap = format!(
                    "{id} has {length} messages, and place {} is not the next",
                    message.seq
                );
                return Err(StoreError::Conflict(gap).into());
            }
        }
    }
    Ok(())
}

pub(super) fn conversation(row: &Row<'_>) -> Result<Conversation, Failure> {
    Ok(Conversation {
        id: text(row, 0)?.parse()?,
        owner: row.get(1)?,
        title: row.get(2)?,
        agent: row.get(3)?,
        workspace: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}

fn message(row: &Row<'_>) -> Result<StoredMessage, Failure> {
    let run: Option<String> = row.get(1)?;
    Ok(StoredMessage {
        seq: u64::try_from(row.get::<_, i64>(0)?)?,
        run: run.map(|run| run.parse()).transpose()?,
        body: json::read(text(row, 2)?)?,
        created_at: row.get(3)?,
    })
}
