//! Postgres: conversations and their messages.

use tokio_postgres::Row;
use toolcrib_core::{
    BoxFuture, Conversation, ConversationId, ConversationStore, DeletedConversation, RunId,
    StoreError, StoredMessage,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::deleted_conversations::{Delete, LIST as LIST_DELETED, PURGE, Restore, Trash, deleted};
use super::statement::Statement;
use super::{at_most, number, read, text, write};
use crate::writer::Durability;

const PUT: &str = "INSERT INTO conversations AS c
    (id, owner, title, agent, workspace, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (id) DO UPDATE
    SET title = excluded.title, agent = excluded.agent, workspace = excluded.workspace
    WHERE c.owner = excluded.owner";
const CHANGE: &str = "UPDATE conversations SET title = $3, agent = $4, workspace = $5
    WHERE id = $1 AND owner = $2";
const GET: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE id = $1";
const LIST: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE owner = $1 ORDER BY updated_at DESC, id DESC LIMIT $2";

const LIST_BEFORE: &str = "SELECT id, owner, title, agent, workspace, created_at, updated_at
    FROM conversations WHERE owner = $1 AND (updated_at, id) < ($2, $3)
    ORDER BY updated_at DESC, id DESC LIMIT $4";

/// Locks the conversation until the transaction ends, so that positions are assigned by one writer
/// at a time.
const TOUCH: &str = "UPDATE conversations SET updated_at = greatest(updated_at, $2) WHERE id = $1";
const LENGTH: &str = "SELECT coalesce(max(seq) + 1, 0) FROM messages WHERE conversation = $1";
/// One statement for all messages. A replaced message keeps its run and time.
const PLACE: &str = "INSERT INTO messages (conversation, seq, run, body, created_at)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[])
    ON CONFLICT (conversation, seq) DO UPDATE SET body = excluded.body";
const SINCE: &str = "SELECT seq, run, body, created_at FROM messages
    WHERE conversation = $1 AND seq >= $2 ORDER BY seq LIMIT $3";

/// Reads the bodies of one run only: a conversation may have thousands of messages.
const OF_RUN: &str = "SELECT seq, run, body, created_at FROM messages
    WHERE conversation = $1 AND run = $2 ORDER BY seq";

impl ConversationStore for PostgresStore {
    fn put_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Put(conversation))
    }

    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Change(conversation))
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>> {
        Box::pin(async move { self.fetch_optional(GET, &[&id.to_string()], conversation).await })
    }

    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(LIST, &[&escape(owner), &at_most(limit)], conversation).await
        })
    }

    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        (updated_at, id): (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        Box::pin(async move {
            let (owner, id) = (escape(owner), id.to_string());
            self.fetch_all(LIST_BEFORE, &[&owner, &updated_at, &id, &at_most(limit)], conversation)
                .await
        })
    }

    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(PutMessages { conversation, messages })
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
        let (id, since) = (conversation.to_string(), super::column(since));
        Box::pin(
            async move { self.fetch_all(SINCE, &[&id, &since, &at_most(limit)], message).await },
        )
    }

    fn messages_of_run(
        &self,
        conversation: ConversationId,
        run: RunId,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let (id, run) = (conversation.to_string(), run.to_string());
        Box::pin(async move { self.fetch_all(OF_RUN, &[&id, &run], message).await })
    }

    fn trash_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
        at: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Trash { owner: owner.to_owned(), id: id.to_string(), at })
    }

    fn restore_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Restore { owner: owner.to_owned(), id: id.to_string() })
    }

    fn deleted_conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DeletedConversation>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(LIST_DELETED, &[&escape(owner), &at_most(limit)], deleted).await
        })
    }

    fn purge_conversations(&self, before: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Statement::new(PURGE, vec![Box::new(before)]))
    }

    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Delete { owner: owner.to_owned(), id: id.to_string() })
    }
}

struct Put(Conversation);

impl Job for Put {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let Conversation { id, owner, title, agent, workspace, created_at, updated_at } =
                &self.0;
            let id = id.to_string();
            let words = [owner, title, agent, workspace].map(|word| escape(word));
            let [owner, title, agent, workspace] = &words;
            let row = tx
                .link
                .execute(PUT, &[&id, owner, title, agent, workspace, created_at, updated_at])
                .await?;
            match row {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(JobOutput::unaudited(())),
            }
        })
    }
}

struct Change(Conversation);

impl Job for Change {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(CHANGE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let Conversation { id, owner, title, agent, workspace, .. } = &self.0;
            let id = id.to_string();
            let words = [owner, title, agent, workspace].map(|word| escape(word));
            let [owner, title, agent, workspace] = &words;
            if tx.link.execute(CHANGE, &[&id, owner, title, agent, workspace]).await? > 0 {
                return Ok(JobOutput::unaudited(()));
            }
            Err(match tx.link.query_optional(GET, &[&id]).await? {
                Some(_) => StoreError::Conflict(id),
                None => StoreError::Missing(id),
            }
            .into())
        })
    }
}

struct PutMessages {
    conversation: ConversationId,
    messages: Vec<StoredMessage>,
}

impl Job for PutMessages {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            put_messages(tx, self.conversation, &self.messages).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

/// Writes messages at their positions, inside the transaction of the caller.
pub(super) async fn put_messages(
    tx: &Tx<'_>,
    conversation: ConversationId,
    messages: &[StoredMessage],
) -> Result<(), Failure> {
    let id = conversation.to_string();
    let newest = messages.iter().map(|message| message.created_at).max().unwrap_or(i64::MIN);
    if tx.link.execute(TOUCH, &[&id, &newest]).await? == 0 {
        return Err(StoreError::Missing(id).into());
    }
    if messages.is_empty() {
        return Ok(());
    }
    let row = tx.link.query_optional(LENGTH, &[&id]).await?;
    let length = row.map_or(Ok(0), |row| number(&row, 0))?;
    let placed = placed(&id, length, messages)?;
    let columns = (
        placed.iter().map(|message| super::column(message.seq)).collect::<Vec<_>>(),
        placed.iter().map(|message| message.run.map(|run| run.to_string())).collect::<Vec<_>>(),
        placed.iter().map(|message| write(&message.body)).collect::<Result<Vec<_>, _>>()?,
        placed.iter().map(|message| message.created_at).collect::<Vec<_>>(),
    );
    tx.link.execute(PLACE, &[&id, &columns.0, &columns.1, &columns.2, &columns.3]).await?;
    Ok(())
}

/// Returns the messages to write, one per position: the content of the last one, with run and time
/// of the first.
fn placed(
    id: &str,
    mut length: u64,
    messages: &[StoredMessage],
) -> Result<Vec<StoredMessage>, StoreError> {
    let mut placed: Vec<StoredMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        if message.seq > length {
            let gap =
                format!("{id} has {length} messages, and place {} is not the next", message.seq);
            return Err(StoreError::Conflict(gap));
        }
        length = length.max(message.seq + 1);
        match placed.iter_mut().find(|earlier| earlier.seq == message.seq) {
            Some(earlier) => earlier.body.clone_from(&message.body),
            None => placed.push(message.clone()),
        }
    }
    Ok(placed)
}

pub(super) fn conversation(row: &Row) -> Result<Conversation, Failure> {
    Ok(Conversation {
        id: row.try_get::<_, &str>(0)?.parse()?,
        owner: text(row, 1)?,
        title: text(row, 2)?,
        agent: text(row, 3)?,
        workspace: text(row, 4)?,
        created_at: row.try_get(5)?,
        updated_at: row.try_get(6)?,
    })
}

fn message(row: &Row) -> Result<StoredMessage, Failure> {
    let run: Option<&str> = row.try_get(1)?;
    Ok(StoredMessage {
        seq: number(row, 0)?,
        run: run.map(str::parse).transpose()?,
        body: read(row, 2)?,
        created_at: row.try_get(3)?,
    })
}
