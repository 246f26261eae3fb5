//! Conversations and runs as they are kept: rows whose bodies only their owner understands, behind two store traits.
//!
//! A message's body and a run's state are JSON that the agent loop writes and reads; a store keeps them whole and orders them. Nothing is
//! ever deleted by trimming or compaction: those change what is sent, not what is kept. A person deletes a conversation as a whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::call::Context;
use crate::id::{ConversationId, RunId};
use crate::store::StoreError;

/// A conversation: messages in order, of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id; [`Context::conversation`] holds the same as text.
    pub id: ConversationId,
    /// Whose it is.
    pub owner: String,
    /// What it is about, in a few words; empty = not named yet.
    pub title: String,
    /// The agent that answers in it.
    pub agent: String,
    /// Workspace folder.
    pub workspace: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of its newest message.
    pub updated_at: i64,
}

/// One message as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Place in the conversation, from 0, without gaps.
    pub seq: u64,
    /// The run that wrote it.
    pub run: Option<RunId>,
    /// The message.
    pub body: Value,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// Conversations and their messages.
pub trait ConversationStore: Send + Sync {
    /// Adds a conversation, or changes title, agent and workspace of one that is there. A row keeps its owner: the id of somebody
    /// else's conversation is a [`StoreError::Conflict`].
    fn put_conversation(&self, conversation: Conversation)
    -> BoxFuture<'_, Result<(), StoreError>>;

    /// Changes title, agent and workspace of a conversation that is there; one that is not, because it was deleted meanwhile, is
    /// [`StoreError::Missing`], and does not come back. Somebody else's is a [`StoreError::Conflict`].
    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// One conversation.
    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>>;

    /// Conversations of an owner, those with the newest messages first, at most `limit`.
    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>>;

    /// The same after a place in that list, which is the [`updated_at`](Conversation::updated_at) and the id of a conversation in it.
    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        before: (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>>;

    /// Writes messages at their places: a place that is new is added, one that is there gets the new body (a call was answered). A place
    /// beyond the end plus one is a [`StoreError::Conflict`], an unknown conversation [`StoreError::Missing`]; then nothing is written.
    /// The conversation's [`updated_at`](Conversation::updated_at) follows its newest message.
    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Messages from place `since` on, in order.
    fn messages(
        &self,
        conversation: ConversationId,
        since: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;

    /// The same, at most `limit`.
    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>>;

    /// Removes a conversation of this owner with its messages and its runs. What is recorded of its calls stays. One that is not there, or
    /// that is somebody else's, is [`StoreError::Missing`]; one with a run that is not over [`StoreError::Conflict`] with the id of that run. Then nothing is
    /// removed.
    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A process works on it, or died working on it.
    Running,
    /// It waits for a person; any process may go on with it.
    Paused,
    /// It has ended.
    Ended,
}

impl RunStatus {
    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// A run as it is kept: enough for another process to finish it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its id.
    pub id: RunId,
    /// The conversation that its messages are in.
    pub conversation: ConversationId,
    /// Whose it is.
    pub context: Context,
    /// Where it stands.
    pub status: RunStatus,
    /// State of the loop, without the messages; its own words say how it ended or what it waits for.
    pub state: Value,
    /// Fencing number of the process that works on it; grows with every [`RunStore::take_run`].
    pub epoch: u64,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of the last change.
    pub updated_at: i64,
}

/// A run that is not over, as far as whoever looks after such runs needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// Fencing number of the process that works on it, or worked on it last.
    pub epoch: u64,
}

/// Runs of the agent loop.
pub trait RunStore: Send + Sync {
    /// Writes a run. One that another process has taken meanwhile (its stored epoch is larger) is [`StoreError::Fenced`], one of an
    /// unknown conversation [`StoreError::Missing`]. A row keeps its owner: the id of somebody else's run is a
    /// [`StoreError::Conflict`].
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>>;

    /// One run.
    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>>;

    /// Takes over a run that waits for a person, or whose process is gone, in one step: one that is still `running` or `paused` under exactly the epoch at which it
    /// was read. It is `running` under the next epoch afterwards, and returned as it is stored. One that has ended, or that somebody has
    /// taken since, is a [`StoreError::Conflict`] with its status; an unknown one [`StoreError::Missing`]. Of two
    /// that take at once, one wins.
    fn take_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>>;

    /// Runs of an owner, the last created first, at most `limit`; only those of one status if one is given.
    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>>;

    /// The same after a place in that list, which is the [`created_at`](StoredRun::created_at) and the id of a run in it.
    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        before: (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>>;

    /// Runs of everybody that are not over, in any order, at most `limit`: for whoever goes on with what others left.
    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>>;
}

/// Runs together with the messages that they write: what the agent loop keeps between its steps without waiting for a disk.
pub trait Checkpoints: ConversationStore + RunStore {
    /// Queues a run and messages of [its conversation](StoredRun::conversation), and returns at once. Both are written in one
    /// transaction, after everything this process has queued or written before and before anything it writes later: as
    /// [`RunStore::put_run`] and [`ConversationStore::put_messages`] would, and if one of them fails, neither is written. Readers see
    /// it when it is committed, so [`flush`](Self::flush) before reading back.
    ///
    /// A queue that is full (a stalled disk) makes this wait for room, so memory stays bounded.
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>);

    /// Waits until every checkpoint of this run is committed (a [paused](RunStatus::Paused) one: durably). The first error of its
    /// checkpoints since the last flush is returned here, once: [`StoreError::Fenced`] means that another process has taken the run.
    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Small facts that outlive a process, by name: that a server takes no tools, that a folder is trusted.
pub trait FactStore: Send + Sync {
    /// Remembers a fact; an earlier one of this name is replaced.
    fn put_fact<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A fact.
    fn fact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
}
