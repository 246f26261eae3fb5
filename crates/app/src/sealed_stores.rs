//! Store wrappers that keep secrets out of the database: user input and model output in runs are
//! sealed before they are stored, and opened when the run is resumed.
//!
//! Titles, topics and pending questions are masked instead: lists show them, and no run depends on
//! their text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, BoxFuture, CallId, Context, Conversation,
    ConversationAndRunStore, ConversationId, ConversationStore, DecisionRecord,
    DeletedConversation, OpenRun, RunId, RunStatus, RunStore, SealError, StoreError, StoredMessage,
    StoredRun, UserQuestion,
};
use toolcrib_engine::Sealing;

/// Marks a sealed value that is not a string: `{"$sealed": "…"}`.
const SEALED_KEY: &str = "$sealed";
/// Path in a run's state of the question that it waits for (`machine::Phase::Person`). Members of
/// this name elsewhere are user data.
const PENDING_POINTER: &str = "/state/phase/pending";

/// Conversations and runs, with secrets sealed.
pub(crate) struct SealedConversationAndRunStore {
    inner: Arc<dyn ConversationAndRunStore>,
    sealing: Sealing,
    /// Errors from sealing checkpoints, until the caller flushes.
    failed: Mutex<HashMap<RunId, StoreError>>,
}

/// Approvals, with secrets masked.
pub(crate) struct MaskedApprovalStore {
    pub(crate) inner: Arc<dyn ApprovalStore>,
    pub(crate) sealing: Sealing,
}

fn to_store_error(error: SealError) -> StoreError {
    StoreError::Failed(error.to_string())
}

fn seal(sealing: &Sealing, value: Value) -> Result<Value, SealError> {
    if !needs_seal(sealing, &value) {
        return Ok(value);
    }
    match value {
        Value::String(text) => Ok(sealing.seal(&text)?.map_or(Value::String(text), Value::String)),
        Value::Array(items) => {
            items.into_iter().map(|item| seal(sealing, item)).collect::<Result<_, _>>()
        }
        Value::Object(map) if !map.keys().any(|key| is_reserved_key(sealing, key)) => {
            let member = |(key, inner): (String, Value)| Ok((key, seal(sealing, inner)?));
            map.into_iter().map(member).collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        other => {
            let text = other.to_string();
            Ok(json!({ SEALED_KEY: sealing.seal_always(&text)? }))
        }
    }
}

/// Seals the state of a run, from which the run continues; only the pending question is masked.
fn seal_state(sealing: &Sealing, mut state: Value) -> Result<Value, SealError> {
    if let Some(pending) = state.pointer_mut(PENDING_POINTER) {
        *pending = sealing.secrets.mask_json(pending);
    }
    seal(sealing, state)
}

fn is_reserved_key(sealing: &Sealing, key: &str) -> bool {
    key == SEALED_KEY || sealing.secrets.occurs_in(key)
}

fn needs_seal(sealing: &Sealing, value: &Value) -> bool {
    match value {
        Value::String(text) => sealing.must_seal(text),
        Value::Array(items) => items.iter().any(|item| needs_seal(sealing, item)),
        Value::Object(map) => map
            .iter()
            .any(|(key, inner)| is_reserved_key(sealing, key) || needs_seal(sealing, inner)),
        scalar => sealing.secrets.occurs_in_json(scalar),
    }
}

fn unseal(sealing: &Sealing, value: Value) -> Result<Value, SealError> {
    match value {
        Value::String(text) => sealing.open_if_sealed(text).map(Value::String),
        Value::Array(items) => {
            items.into_iter().map(|item| unseal(sealing, item)).collect::<Result<_, _>>()
        }
        Value::Object(map) => match map.get(SEALED_KEY) {
            Some(Value::String(sealed)) => serde_json::from_str(&sealing.open(sealed)?)
                .map_err(|_| SealError("it is not in the form that was sealed".to_owned())),
            _ => map
                .into_iter()
                .map(|(key, inner)| Ok((key, unseal(sealing, inner)?)))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object),
        },
        scalar => Ok(scalar),
    }
}

impl SealedConversationAndRunStore {
    pub(crate) fn new(inner: Arc<dyn ConversationAndRunStore>, sealing: Sealing) -> Self {
        Self { inner, sealing, failed: Mutex::default() }
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<RunId, StoreError>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seal_message(&self, message: StoredMessage) -> Result<StoredMessage, StoreError> {
        Ok(StoredMessage {
            body: seal(&self.sealing, message.body).map_err(to_store_error)?,
            ..message
        })
    }

    fn seal_run(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        let topic = self.sealing.secrets.mask(run.context.topic.clone());
        let context = Context { topic, ..run.context };
        let state = seal_state(&self.sealing, run.state).map_err(to_store_error)?;
        Ok(StoredRun { state, context, ..run })
    }

    fn unseal_messages(&self, kept: Vec<StoredMessage>) -> Result<Vec<StoredMessage>, StoreError> {
        let opened = kept.into_iter().map(|message| {
            let body = unseal(&self.sealing, message.body).map_err(to_store_error)?;
            Ok(StoredMessage { body, ..message })
        });
        opened.collect()
    }

    fn unseal_run(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        Ok(StoredRun { state: unseal(&self.sealing, run.state).map_err(to_store_error)?, ..run })
    }
}

impl ConversationStore for SealedConversationAndRunStore {
    fn put_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let title = self.sealing.secrets.mask(conversation.title);
        self.inner.put_conversation(Conversation { title, ..conversation })
    }

    fn change_conversation(
        &self,
        conversation: Conversation,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let title = self.sealing.secrets.mask(conversation.title);
        self.inner.change_conversation(Conversation { title, ..conversation })
    }

    fn conversation(
        &self,
        id: ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, StoreError>> {
        self.inner.conversation(id)
    }

    fn conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        self.inner.conversations(owner, limit)
    }

    fn conversations_before<'a>(
        &'a self,
        owner: &'a str,
        before: (i64, ConversationId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Conversation>, StoreError>> {
        self.inner.conversations_before(owner, before, limit)
    }

    fn put_messages(
        &self,
        conversation: ConversationId,
        messages: Vec<StoredMessage>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let sealed = messages.into_iter().map(|message| self.seal_message(message));
        match sealed.collect() {
            Ok(messages) => self.inner.put_messages(conversation, messages),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn messages(
        &self,
        conversation: ConversationId,
        since: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(
            async move { self.unseal_messages(self.inner.messages(conversation, since).await?) },
        )
    }

    fn messages_of_run(
        &self,
        conversation: ConversationId,
        run: RunId,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(async move {
            self.unseal_messages(self.inner.messages_of_run(conversation, run).await?)
        })
    }

    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(async move {
            self.unseal_messages(self.inner.messages_page(conversation, since, limit).await?)
        })
    }

    fn trash_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
        at: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.trash_conversation(owner, id, at)
    }

    fn restore_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.restore_conversation(owner, id)
    }

    fn deleted_conversations<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DeletedConversation>, StoreError>> {
        self.inner.deleted_conversations(owner, limit)
    }

    fn purge_conversations(&self, before: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.purge_conversations(before)
    }

    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.delete_conversation(owner, id)
    }
}

impl RunStore for SealedConversationAndRunStore {
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.seal_run(run) {
            Ok(run) => self.inner.put_run(run),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>> {
        Box::pin(
            async move { self.inner.run(id).await?.map(|run| self.unseal_run(run)).transpose() },
        )
    }

    fn claim_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>> {
        Box::pin(async move { self.unseal_run(self.inner.claim_run(id, epoch).await?) })
    }

    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        self.inner.runs(owner, status, limit)
    }

    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        before: (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        self.inner.runs_before(owner, status, before, limit)
    }

    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.inner.open_runs(limit)
    }
}

impl ConversationAndRunStore for SealedConversationAndRunStore {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        let id = run.id;
        let sealed = messages.into_iter().map(|message| self.seal_message(message));
        match (self.seal_run(run), sealed.collect::<Result<_, _>>()) {
            (Ok(run), Ok(messages)) => self.inner.checkpoint(run, messages),
            // A checkpoint that cannot be sealed is not stored; the next flush reports the error.
            (Err(error), _) | (_, Err(error)) => {
                self.failures().insert(id, error);
            }
        }
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.inner.flush(run).await?;
            self.failures().remove(&run).map_or(Ok(()), Err)
        })
    }
}

fn masked_question(sealing: &Sealing, question: UserQuestion) -> UserQuestion {
    let mask = |text: String| sealing.secrets.mask(text);
    UserQuestion {
        question: mask(question.question),
        context: mask(question.context),
        options: question.options.into_iter().map(mask).collect(),
    }
}

impl ApprovalStore for MaskedApprovalStore {
    fn ask(&self, waiting: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>> {
        let (sealing, request) = (&self.sealing, waiting.request);
        let topic = sealing.secrets.mask(request.context.topic.clone());
        let request = ApprovalRequest {
            args: sealing.secrets.mask_json(&request.args),
            summary: sealing.secrets.mask(request.summary),
            question: request.question.map(|question| masked_question(sealing, question)),
            context: Context { topic, ..request.context },
            ..request
        };
        self.inner.ask(PendingApproval { request, ..waiting })
    }

    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        self.inner.get(id)
    }

    fn for_call(
        &self,
        call: CallId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        self.inner.for_call(call)
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        match self.sealing.seal_decision(decision) {
            Ok(decision) => self.inner.decide(id, decision),
            Err(error) => Box::pin(std::future::ready(Err(to_store_error(error)))),
        }
    }

    fn decide_ahead(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        match self.sealing.seal_decision(decision) {
            Ok(decision) => self.inner.decide_ahead(id, decision),
            Err(error) => Box::pin(std::future::ready(Err(to_store_error(error)))),
        }
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.sync()
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        self.inner.pending()
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        self.inner.list(owner, limit)
    }

    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        self.inner.list_before(owner, before, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_holds_no_secret_and_opens_as_it_was() {
        let sealing = Sealing::default();
        sealing.secrets.add(["s3cr3t-value", "1234567890"]);
        let check = |value: Value| {
            let kept = seal(&sealing, value.clone()).unwrap();
            assert!(!sealing.secrets.occurs_in(&kept.to_string()), "{kept}");
            assert_eq!(unseal(&sealing, kept).unwrap(), value);
        };
        check(json!({"text": "a s3cr3t-value b", "list": ["plain", "s3cr3t-value"]}));
        check(json!({"s3cr3t-value": {"a": 1}, "n": 1_234_567_890, "plain": true}));
        check(json!({"$sealed": "x", "a": "toolcrib-sealed-1.x"}));
        check(json!(["plain", null, 1.5]));
        assert!(unseal(&sealing, json!("toolcrib-sealed-1.x")).is_err());
    }

    #[test]
    fn only_what_a_run_waits_for_is_masked_and_arguments_of_that_name_are_sealed() {
        let sealing = Sealing::default();
        sealing.secrets.add(["s3cr3t-value"]);
        let args = json!({"pending": ["s3cr3t-value"], "phase": {"pending": "s3cr3t-value"}});
        let kept = seal(&sealing, args.clone()).unwrap();
        assert!(!kept.to_string().contains("***"), "{kept}");
        assert_eq!(unseal(&sealing, kept).unwrap(), args);

        let state = |question: &str| {
            json!({
                "state": {
                    "phase": {"phase": "person", "pending": [{"question": question}]},
                    "queued": [args],
                },
                "setup": args,
            })
        };
        let kept = seal_state(&sealing, state("is it s3cr3t-value?")).unwrap();
        assert!(!sealing.secrets.occurs_in(&kept.to_string()), "{kept}");
        assert_eq!(kept.pointer(PENDING_POINTER), Some(&json!([{"question": "is it ***?"}])));
        assert_eq!(unseal(&sealing, kept).unwrap(), state("is it ***?"));
    }
}
