//! What runs and questions of models leave behind, without secrets: what a person typed or a model repeated is sealed before it is stored,
//! and opened for whoever goes on with the run.
//!
//! Titles, topics and what waits for a person are masked instead: they are shown in lists, and nothing runs by them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use toolcrib_core::store::{Question, Waiting};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, BoxFuture, CallId, Checkpoints, Context,
    Conversation, ConversationId, ConversationStore, DecisionRecord, OpenRun, RunId, RunStatus,
    RunStore, SealError, StoreError, StoredMessage, StoredRun, UserQuestion,
};
use toolcrib_engine::Sealing;

/// Stands for a value that is no text: `{"$sealed": "…"}`.
const VALUE: &str = "$sealed";
/// Where a run's state holds what it waits for (`machine::Phase::Person`). Members of this name elsewhere are anybody's.
const PENDING: &str = "/state/phase/pending";

/// Conversations and runs, with secrets sealed.
pub(crate) struct SealedRuns {
    inner: Arc<dyn Checkpoints>,
    sealing: Sealing,
    /// Why a checkpoint of a run could not be sealed, until somebody asks.
    failed: Mutex<HashMap<RunId, StoreError>>,
}

/// Questions, with secrets masked.
pub(crate) struct MaskedApprovals {
    pub(crate) inner: Arc<dyn ApprovalStore>,
    pub(crate) sealing: Sealing,
}

fn failed(error: SealError) -> StoreError {
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
        Value::Object(map) if !map.keys().any(|key| is_odd(sealing, key)) => {
            let member = |(key, inner): (String, Value)| Ok((key, seal(sealing, inner)?));
            map.into_iter().map(member).collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        other => {
            let text = other.to_string();
            Ok(json!({ VALUE: sealing.seal_whole(&text)? }))
        }
    }
}

/// The state of a run: what it waits for is masked, everything else is sealed, for the run goes on with it.
fn seal_state(sealing: &Sealing, mut state: Value) -> Result<Value, SealError> {
    if let Some(pending) = state.pointer_mut(PENDING) {
        *pending = sealing.secrets.mask_data(pending);
    }
    seal(sealing, state)
}

fn is_odd(sealing: &Sealing, key: &str) -> bool {
    key == VALUE || sealing.secrets.is_in(key)
}

fn needs_seal(sealing: &Sealing, value: &Value) -> bool {
    match value {
        Value::String(text) => sealing.must_seal(text),
        Value::Array(items) => items.iter().any(|item| needs_seal(sealing, item)),
        Value::Object(map) => {
            map.iter().any(|(key, inner)| is_odd(sealing, key) || needs_seal(sealing, inner))
        }
        scalar => sealing.secrets.is_in_data(scalar),
    }
}

fn open(sealing: &Sealing, value: Value) -> Result<Value, SealError> {
    match value {
        Value::String(text) => sealing.opened(text).map(Value::String),
        Value::Array(items) => {
            items.into_iter().map(|item| open(sealing, item)).collect::<Result<_, _>>()
        }
        Value::Object(map) => match map.get(VALUE) {
            Some(Value::String(sealed)) => serde_json::from_str(&sealing.open(sealed)?)
                .map_err(|_| SealError("it is not in the form that was sealed".to_owned())),
            _ => map
                .into_iter()
                .map(|(key, inner)| Ok((key, open(sealing, inner)?)))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object),
        },
        scalar => Ok(scalar),
    }
}

impl SealedRuns {
    pub(crate) fn new(inner: Arc<dyn Checkpoints>, sealing: Sealing) -> Self {
        Self { inner, sealing, failed: Mutex::default() }
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<RunId, StoreError>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn message(&self, message: StoredMessage) -> Result<StoredMessage, StoreError> {
        Ok(StoredMessage { body: seal(&self.sealing, message.body).map_err(failed)?, ..message })
    }

    fn run_of(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        let topic = self.sealing.secrets.mask(run.context.topic.clone());
        let context = Context { topic, ..run.context };
        let state = seal_state(&self.sealing, run.state).map_err(failed)?;
        Ok(StoredRun { state, context, ..run })
    }

    fn messages_of(&self, kept: Vec<StoredMessage>) -> Result<Vec<StoredMessage>, StoreError> {
        let opened = kept.into_iter().map(|message| {
            let body = open(&self.sealing, message.body).map_err(failed)?;
            Ok(StoredMessage { body, ..message })
        });
        opened.collect()
    }

    fn opened(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        Ok(StoredRun { state: open(&self.sealing, run.state).map_err(failed)?, ..run })
    }
}

impl ConversationStore for SealedRuns {
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
        let sealed = messages.into_iter().map(|message| self.message(message));
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
        Box::pin(async move { self.messages_of(self.inner.messages(conversation, since).await?) })
    }

    fn messages_page(
        &self,
        conversation: ConversationId,
        since: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredMessage>, StoreError>> {
        Box::pin(async move {
            self.messages_of(self.inner.messages_page(conversation, since, limit).await?)
        })
    }

    fn delete_conversation<'a>(
        &'a self,
        owner: &'a str,
        id: ConversationId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.delete_conversation(owner, id)
    }
}

impl RunStore for SealedRuns {
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.run_of(run) {
            Ok(run) => self.inner.put_run(run),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>> {
        Box::pin(async move { self.inner.run(id).await?.map(|run| self.opened(run)).transpose() })
    }

    fn take_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>> {
        Box::pin(async move { self.opened(self.inner.take_run(id, epoch).await?) })
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

impl Checkpoints for SealedRuns {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        let id = run.id;
        let sealed = messages.into_iter().map(|message| self.message(message));
        match (self.run_of(run), sealed.collect::<Result<_, _>>()) {
            (Ok(run), Ok(messages)) => self.inner.checkpoint(run, messages),
            // What cannot be sealed is not stored at all; whoever flushes is told.
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

impl ApprovalStore for MaskedApprovals {
    fn ask(&self, waiting: Waiting) -> BoxFuture<'_, Result<(), StoreError>> {
        let (sealing, request) = (&self.sealing, waiting.request);
        let topic = sealing.secrets.mask(request.context.topic.clone());
        let request = ApprovalRequest {
            args: sealing.secrets.mask_data(&request.args),
            summary: sealing.secrets.mask(request.summary),
            question: request.question.map(|question| masked_question(sealing, question)),
            context: Context { topic, ..request.context },
            ..request
        };
        self.inner.ask(Waiting { request, ..waiting })
    }

    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<Question>, StoreError>> {
        self.inner.get(id)
    }

    fn of_call(&self, call: CallId) -> BoxFuture<'_, Result<Option<Question>, StoreError>> {
        self.inner.of_call(call)
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        match self.sealing.seal_decision(decision) {
            Ok(decision) => self.inner.decide(id, decision),
            Err(error) => Box::pin(std::future::ready(Err(failed(error)))),
        }
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        self.inner.pending()
    }

    fn questions<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>> {
        self.inner.questions(owner, limit)
    }

    fn questions_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>> {
        self.inner.questions_before(owner, before, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_holds_no_secret_and_opens_as_it_was() {
        let sealing = Sealing::default();
        sealing.secrets.learn(["s3cr3t-value", "1234567890"]);
        let check = |value: Value| {
            let kept = seal(&sealing, value.clone()).unwrap();
            assert!(!sealing.secrets.is_in(&kept.to_string()), "{kept}");
            assert_eq!(open(&sealing, kept).unwrap(), value);
        };
        check(json!({"text": "a s3cr3t-value b", "list": ["plain", "s3cr3t-value"]}));
        check(json!({"s3cr3t-value": {"a": 1}, "n": 1_234_567_890, "plain": true}));
        check(json!({"$sealed": "x", "a": "toolcrib-sealed-1.x"}));
        check(json!(["plain", null, 1.5]));
        assert!(open(&sealing, json!("toolcrib-sealed-1.x")).is_err());
    }

    #[test]
    fn only_what_a_run_waits_for_is_masked_and_arguments_of_that_name_are_sealed() {
        let sealing = Sealing::default();
        sealing.secrets.learn(["s3cr3t-value"]);
        let args = json!({"pending": ["s3cr3t-value"], "phase": {"pending": "s3cr3t-value"}});
        let kept = seal(&sealing, args.clone()).unwrap();
        assert!(!kept.to_string().contains("***"), "{kept}");
        assert_eq!(open(&sealing, kept).unwrap(), args);

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
        assert!(!sealing.secrets.is_in(&kept.to_string()), "{kept}");
        assert_eq!(kept.pointer(PENDING), Some(&json!([{"question": "is it ***?"}])));
        assert_eq!(open(&sealing, kept).unwrap(), state("is it ***?"));
    }
}
