//! Conversations, runs and key-value pairs, in memory.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{
    BoxFuture, Conversation, ConversationAndRunStore, ConversationId, ConversationStore,
    DeletedConversation, KeyValueStore, OpenRun, RunId, RunStatus, RunStore, StoreError,
    StoredMessage, StoredRun,
};

/// Conversations, runs and key-value pairs in memory, for embedders without a database.
#[derive(Default)]
pub struct MemoryRuns {
    rows: Mutex<Rows>,
}

impl MemoryRuns {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ids are ordered by time, so the maps are too.
#[derive(Default)]
struct Rows {
    conversations: BTreeMap<ConversationId, (Conversation, Vec<StoredMessage>)>,
    deleted: BTreeMap<ConversationId, Deleted>,
    runs: BTreeMap<RunId, StoredRun>,
    facts: HashMap<String, String>,
    /// First errors of checkpoints that were written in the background.
    faults: HashMap<RunId, StoreError>,
}

/// A deleted conversation with everything that restoring it needs.
struct Deleted {
    head: DeletedConversation,
    messages: Vec<StoredMessage>,
    runs: Vec<StoredRun>,
}

impl Rows {
    fn put_conversation(&mut self, new: Conversation) -> Result<(), StoreError> {
        match self.conversations.get_mut(&new.id) {
            None => {
                self.conversations.insert(new.id, (new, Vec::new()));
            }
            Some((there, _)) if there.owner != new.owner => {
                return Err(StoreError::Conflict(new.id.to_string()));
            }
            Some((there, _)) => {
                there.title = new.title;
                there.agent = new.agent;
                there.workspace = new.workspace;
            }
        }
        Ok(())
    }

    fn change_conversation(&mut self, new: Conversation) -> Result<(), StoreError> {
        if !self.conversations.contains_key(&new.id) {
            return Err(StoreError::Missing(new.id.to_string()));
        }
        self.put_conversation(new)
    }

    /// Checks the positions of messages: none is written unless all are valid.
    fn check_messages(
        &self,
        conversation: ConversationId,
        messages: &[StoredMessage],
    ) -> Result<(), StoreError> {
        let (_, there) = self
            .conversations
            .get(&conversation)
            .ok_or_else(|| StoreError::Missing(conversation.to_string()))?;
        let mut length = there.len() as u64;
        for StoredMessage { seq, .. } in messages {
            if *seq > length {
                let gap = format!(
                    "{conversation} has {length} messages, and place {seq} is not the next"
                );
                return Err(StoreError::Conflict(gap));
            }
            length = length.max(seq + 1);
        }
        Ok(())
    }

    fn put_messages(
        &mut self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> Result<(), StoreError> {
        self.check_messages(conversation, &messages)?;
        let Some((head, there)) = self.conversations.get_mut(&conversation) else { return Ok(()) };
        for message in messages {
            head.updated_at = head.updated_at.max(message.created_at);
            match usize::try_from(message.seq).ok().and_then(|seq| there.get_mut(seq)) {
                Some(old) => old.body = message.body,
                None => there.push(message),
            }
        }
        Ok(())
    }

    fn check_run(&self, run: &StoredRun) -> Result<(), StoreError> {
        if let Some(there) = self.runs.get(&run.id) {
            if there.context.owner != run.context.owner {
                return Err(StoreError::Conflict(run.id.to_string()));
            }
            if there.epoch > run.epoch {
                return Err(StoreError::Fenced { current: there.epoch, claimed: run.epoch });
            }
        }
        if self.conversations.contains_key(&run.conversation) {
            Ok(())
        } else {
            Err(StoreError::Missing(run.conversation.to_string()))
        }
    }

    fn put_run(&mut self, run: StoredRun) -> Result<(), StoreError> {
        self.check_run(&run)?;
        self.runs.insert(run.id, run);
        Ok(())
    }

    fn trash_conversation(
        &mut self,
        owner: &str,
        id: ConversationId,
        at: i64,
    ) -> Result<(), StoreError> {
        let missing = || StoreError::Missing(id.to_string());
        let (head, messages) = self.conversations.get(&id).ok_or_else(missing)?;
        if head.owner != owner {
            return Err(missing());
        }
        let own: Vec<_> = self.runs.values().filter(|run| run.conversation == id).collect();
        if let Some(open) = own.iter().find(|run| run.status != RunStatus::Ended) {
            return Err(StoreError::Conflict(open.id.to_string()));
        }
        let deleted = Deleted {
            head: DeletedConversation { conversation: head.clone(), deleted_at: at },
            messages: messages.clone(),
            runs: own.into_iter().cloned().collect(),
        };
        self.runs.retain(|_, run| run.conversation != id);
        self.conversations.remove(&id);
        self.deleted.insert(id, deleted);
        Ok(())
    }

    fn restore_conversation(&mut self, owner: &str, id: ConversationId) -> Result<(), StoreError> {
        let missing = || StoreError::Missing(id.to_string());
        self.deleted
            .get(&id)
            .filter(|deleted| deleted.head.conversation.owner == owner)
            .ok_or_else(missing)?;
        let Deleted { head, messages, runs } = self.deleted.remove(&id).ok_or_else(missing)?;
        self.conversations.insert(id, (head.conversation, messages));
        self.runs.extend(runs.into_iter().map(|run| (run.id, run)));
        Ok(())
    }

    fn delete_conversation(&mut self, owner: &str, id: ConversationId) -> Result<(), StoreError> {
        if self.deleted.get(&id).is_none_or(|one| one.head.conversation.owner != owner) {
            self.trash_conversation(owner, id, 0)?;
        }
        self.deleted.remove(&id);
        Ok(())
    }

    fn take_run(&mut self, id: RunId, epoch: u64) -> Result<StoredRun, StoreError> {
        let run = self.runs.get_mut(&id).ok_or_else(|| StoreError::Missing(id.to_string()))?;
        if run.status == RunStatus::Ended || run.epoch != epoch {
            return Err(StoreError::Conflict(run.status.as_str().into()));
        }
        run.status = RunStatus::Running;
        run.epoch += 1;
        Ok(run.clone())
    }

    fn checkpoint(
        &mut self,
        run: StoredRun,
        messages: Vec<StoredMessage>,
    ) -> Result<(), StoreError> {
        self.check_run(&run)?;
        self.put_messages(run.conversation, messages)?;
        self.put_run(run)
    }
}

impl ConversationStore for MemoryRuns {
    fn put_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().put_conversation(conversation)))
    }

    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().change_conversation(conversation)))
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>> {
        let found = self.lock().conversations.get(&id).map(|(head, _)| head.clone());
        Box::pin(ready(Ok(found)))
    }

    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        let rows = self.lock();
        let mut found: Vec<_> =
            rows.conversations.values().map(|(c, _)| c).filter(|c| c.owner == owner).collect();
        found.sort_by_key(|c| std::cmp::Reverse((c.updated_at, c.id)));
        let found = found.into_iter().take(limit).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        before: (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        Box::pin(async move {
            let mut found = self.conversations(owner, usize::MAX).await?;
            found.retain(|c| (c.updated_at, c.id) < before);
            found.truncate(limit);
            Ok(found)
        })
    }

    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().put_messages(conversation, messages)))
    }

    fn messages(
        &self,
        conversation: ConversationId,
        since: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        let rows = self.lock();
        let found = rows.conversations.get(&conversation).map_or_else(Vec::new, |(_, messages)| {
            messages.iter().filter(|message| message.seq >= since).cloned().collect()
        });
        Box::pin(ready(Ok(found)))
    }

    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(async move {
            let mut found = self.messages(conversation, since).await?;
            found.truncate(limit);
            Ok(found)
        })
    }

    fn messages_of_run(
        &self,
        conversation: ConversationId,
        run: RunId,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(async move {
            let mut found = self.messages(conversation, 0).await?;
            found.retain(|message| message.run == Some(run));
            Ok(found)
        })
    }

    fn trash_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
        at: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(self.lock().trash_conversation(owner, id, at)))
    }

    fn restore_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(self.lock().restore_conversation(owner, id)))
    }

    fn deleted_conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DeletedConversation>, StoreError>> {
        let rows = self.lock();
        let own = rows.deleted.values().filter(|one| one.head.conversation.owner == owner);
        let mut found: Vec<_> = own.map(|one| one.head.clone()).collect();
        found.sort_by_key(|one| std::cmp::Reverse((one.deleted_at, one.conversation.id)));
        found.truncate(limit);
        Box::pin(ready(Ok(found)))
    }

    fn purge_conversations(&self, before: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.lock().deleted.retain(|_, one| one.head.deleted_at >= before);
        Box::pin(ready(Ok(())))
    }

    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(self.lock().delete_conversation(owner, id)))
    }
}

impl RunStore for MemoryRuns {
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().put_run(run)))
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>> {
        Box::pin(ready(Ok(self.lock().runs.get(&id).cloned())))
    }

    fn claim_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>> {
        Box::pin(ready(self.lock().take_run(id, epoch)))
    }

    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        let rows = self.lock();
        let mut found: Vec<_> = rows
            .runs
            .values()
            .filter(|run| run.context.owner == owner && status.is_none_or(|s| s == run.status))
            .collect();
        found.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.id)));
        let found = found.into_iter().take(limit).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        before: (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        Box::pin(async move {
            let mut found = self.runs(owner, status, usize::MAX).await?;
            found.retain(|run| (run.created_at, run.id) < before);
            found.truncate(limit);
            Ok(found)
        })
    }

    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        let rows = self.lock();
        let open = rows.runs.values().filter(|run| run.status != RunStatus::Ended);
        let row = |run: &StoredRun| OpenRun { id: run.id, status: run.status, epoch: run.epoch };
        Box::pin(ready(Ok(open.take(limit).map(row).collect())))
    }
}

impl ConversationAndRunStore for MemoryRuns {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        let id = run.id;
        let mut rows = self.lock();
        if let Err(error) = rows.checkpoint(run, messages) {
            rows.faults.entry(id).or_insert(error);
        }
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().faults.remove(&run).map_or(Ok(()), Err)))
    }
}

impl KeyValueStore for MemoryRuns {
    fn put_value<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.lock().facts.insert(name.into(), value.into());
        Box::pin(ready(Ok(())))
    }

    fn value<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(ready(Ok(self.lock().facts.get(name).cloned())))
    }
}
