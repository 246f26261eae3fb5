//! Stored conversations and runs, and the traits of their stores.
//!
//! A message's body and a run's state are JSON that the agent loop writes and reads; a store keeps
//! them unchanged and in order. Trimming and compaction change only the requests to a model and
//! never delete stored messages. A user deletes a conversation as a whole, and can restore it for
//! [`RESTORABLE_MS`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::call::Context;
use crate::id::{ConversationId, RunId};
use crate::store::StoreError;

/// Time for which a deleted conversation can be restored, in milliseconds: 30 days, as for
/// documents.
pub const RESTORABLE_MS: i64 = 30 * 24 * 3_600_000;

/// A conversation: the ordered messages of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Id; [`Context::conversation`] contains the same id as text.
    pub id: ConversationId,
    /// Owner.
    pub owner: String,
    /// Title in a few words; empty if it has none yet.
    pub title: String,
    /// Agent that answers in the conversation.
    pub agent: String,
    /// Workspace folder.
    pub workspace: String,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Time of the newest message, Unix time in milliseconds.
    pub updated_at: i64,
}

/// A deleted conversation that can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedConversation {
    /// The conversation as it was.
    #[serde(flatten)]
    pub conversation: Conversation,
    /// Time of the deletion, Unix time in milliseconds.
    pub deleted_at: i64,
}

/// One stored message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Position in the conversation, from 0, without gaps.
    pub seq: u64,
    /// Run that wrote the message.
    pub run: Option<RunId>,
    /// The message as JSON.
    pub body: Value,
    /// Unix time in milliseconds.
    pub created_at: i64,
}

/// Conversations and their messages.
pub trait ConversationStore: Send + Sync {
    /// Adds a conversation, or updates title, agent and workspace of an existing one. A row keeps
    /// its owner: an id that belongs to another owner is a [`StoreError::Conflict`].
    fn put_conversation(&self, conversation: Conversation)
    -> BoxFuture<'_, Result<(), StoreError>>;

    /// Updates title, agent and workspace of an existing conversation. One that was deleted in the
    /// meantime is [`StoreError::Missing`] and is not created again. A conversation of another
    /// owner is a [`StoreError::Conflict`].
    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns one conversation.
    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>>;

    /// Returns the conversations of an owner, most recently updated first, at most `limit`.
    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>>;

    /// Returns the page of [`conversations`](Self::conversations) after a cursor: the
    /// [`updated_at`](Conversation::updated_at) and the id of a listed conversation.
    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        before: (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>>;

    /// Writes messages at their positions: a new position is added, an existing one gets the new
    /// body (a call was answered). A position beyond the end plus one is a
    /// [`StoreError::Conflict`], an unknown conversation is [`StoreError::Missing`]; in both cases
    /// nothing is written. The conversation's [`updated_at`](Conversation::updated_at) follows its
    /// newest message.
    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the messages from position `since` on, in order.
    fn messages(
        &self,
        conversation: ConversationId,
        since: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;

    /// Returns at most `limit` messages from position `since` on, in order.
    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;

    /// Returns the messages of a conversation that this run wrote, in order.
    fn messages_of_run(
        &self,
        conversation: ConversationId,
        run: RunId,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;

    /// Deletes a conversation of this owner with its messages and its runs, so that it can be
    /// restored: until then no other method returns or changes them. Call records stay. A
    /// conversation that does not exist or has another owner is [`StoreError::Missing`]; one with a
    /// run that has not ended is a [`StoreError::Conflict`] with the id of that run. In both cases
    /// nothing is deleted. `at` is the time of the deletion, Unix time in milliseconds.
    fn trash_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
        at: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Restores a deleted conversation of this owner with its messages and its runs. One that is
    /// not deleted, was deleted for good or has another owner is [`StoreError::Missing`].
    fn restore_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the deleted conversations of an owner, most recently deleted first, at most `limit`.
    fn deleted_conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DeletedConversation>, StoreError>>;

    /// Removes for good what was deleted before a time, of every owner.
    fn purge_conversations(&self, before: i64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Deletes a conversation of this owner for good, with its messages and its runs, also if it is
    /// deleted already. Fails as [`trash_conversation`](Self::trash_conversation) does.
    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RunState")]
pub enum RunStatus {
    /// A process works on the run, or died while working on it.
    #[default]
    Running,
    /// The run waits for a person; any process may resume it.
    Paused,
    /// The run has ended.
    Ended,
}

impl RunStatus {
    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// A stored run: enough for another process to finish it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its id.
    pub id: RunId,
    /// Conversation of the run's messages.
    pub conversation: ConversationId,
    /// Owner, agent and the rest of the caller's context.
    pub context: Context,
    /// Status.
    pub status: RunStatus,
    /// State of the agent loop without the messages. It records how the run ended or the decision
    /// that it waits for.
    pub state: Value,
    /// Fencing epoch of the process that works on the run; each [`RunStore::claim_run`] increases
    /// it.
    pub epoch: u64,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Time of the last change, Unix time in milliseconds.
    pub updated_at: i64,
}

/// A run that has not ended, with the fields that recovery needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub id: RunId,
    /// Status.
    pub status: RunStatus,
    /// Fencing epoch of the process that works on the run, or worked on it last.
    pub epoch: u64,
}

/// Runs of the agent loop.
pub trait RunStore: Send + Sync {
    /// Writes a run. If another process has claimed it in the meantime (its stored epoch is
    /// larger), the result is [`StoreError::Fenced`]; an unknown conversation is
    /// [`StoreError::Missing`]. A row keeps its owner: an id that belongs to another owner is a
    /// [`StoreError::Conflict`].
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns one run.
    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>>;

    /// Claims a run in one step, if it waits for a person or its process has died: it must still be
    /// `running` or `paused` under exactly this epoch. The run becomes `running` under the next
    /// epoch and is returned as stored. A run that has ended or was claimed since is a
    /// [`StoreError::Conflict`] with its status; an unknown one is [`StoreError::Missing`]. Of two
    /// concurrent claims one succeeds.
    fn claim_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>>;

    /// Runs of an owner, most recently created first, at most `limit`; only those with `status` if
    /// it is given.
    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>>;

    /// Returns the page of [`runs`](Self::runs) after a cursor: the
    /// [`created_at`](StoredRun::created_at) and the id of a listed run.
    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        before: (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>>;

    /// Runs of every owner that have not ended, in any order, at most `limit`: for recovery.
    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>>;
}

/// Runs together with the messages they write: the agent loop checkpoints between its steps without
/// waiting for the disk.
pub trait ConversationAndRunStore: ConversationStore + RunStore {
    /// Queues a run and messages of [its conversation](StoredRun::conversation) and returns at
    /// once. Both are written in one transaction, after everything that this process has queued or
    /// written before, and before anything it writes later. The write follows the rules of
    /// [`RunStore::put_run`] and [`ConversationStore::put_messages`]; if one of them fails, neither
    /// is written. Readers see the checkpoint after its commit: call [`flush`](Self::flush) before
    /// reading back.
    ///
    /// If the queue is full (a stalled disk), the call blocks until there is room, so that memory
    /// stays bounded.
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>);

    /// Waits until every checkpoint of this run is committed, and durable if the run is
    /// [paused](RunStatus::Paused). Returns the first error of its checkpoints since the last
    /// flush, once: [`StoreError::Fenced`] means that another process has claimed the run.
    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Small named values that outlive a process, such as a server that offers no tools or a trusted
/// folder.
pub trait KeyValueStore: Send + Sync {
    /// Stores a value under this name and replaces an earlier one.
    fn put_value<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the value of this name.
    fn value<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
}
