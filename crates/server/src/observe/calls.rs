//! Calls as they are counted and traced: where their one outcome is recorded, so that none is missed and none counted twice.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolcrib_app::core::{
    Acceptance, AcceptedBatch, BatchId, BoxFuture, CallId, CallRecord, CallRow, CallStore, Intent,
    Recovered, Settlement, StoreError, StoredCall, WorkerState,
};

use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{Observe, here, names};

/// A store of calls that is looked at on the way in.
pub(super) struct Counted {
    pub(super) inner: Arc<dyn CallStore>,
    pub(super) observe: Observe,
}

impl CallStore for Counted {
    fn keeps_evidence(&self) -> bool {
        self.inner.keeps_evidence()
    }

    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.claim()
    }

    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.release(epoch)
    }

    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        self.inner.worker(epoch)
    }

    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.inner.accept(batch)
    }

    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.take_batch(id, epoch)
    }

    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        self.inner.batch_of(call)
    }

    fn done(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.done(id)
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.begin(intent)
    }

    fn put_aside(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.put_aside(call, epoch)
    }

    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        // Whether the record can be kept or not: the call has ended.
        self.observe.call_ended(&settlement.record);
        self.inner.settle(settlement)
    }

    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        self.inner.call(call)
    }

    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.inner.outcome_text(call)
    }

    fn open(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.inner.open()
    }

    fn recover(
        &self,
        epoch: u64,
        now_ms: i64,
        take_batches: bool,
    ) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(async move {
            let recovered = self.inner.recover(epoch, now_ms, take_batches).await?;
            let Recovered { unknown, interrupted, .. } = &recovered;
            self.observe.inner.meters.recovered(unknown.len(), interrupted.len());
            Ok(recovered)
        })
    }
}

impl Observe {
    fn call_ended(&self, record: &CallRecord) {
        self.inner.meters.call_ended(record);
        log(record);
        let Some(spans) = self.spans() else { return };
        let parent = self.parent(record);
        let context = parent.map_or_else(|| SpanContext::root(spans.ratio()), SpanContext::child);
        if context.sampled {
            spans.ended(span(record, context, parent));
        }
    }

    /// What a call is part of: its run, or the request that asked for it.
    fn parent(&self, record: &CallRecord) -> Option<SpanContext> {
        let of_request = {
            let mut calls = self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.take(&record.facts.call)
        };
        let runs = self.inner.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let of_run = record.facts.run.and_then(|run| runs.get(&run));
        of_run.or(of_request).or_else(here::context)
    }
}

/// A call in the log: what it was and how it ended, and the shape of its arguments: their names and how long they are, no value.
fn log(record: &CallRecord) {
    let facts = &record.facts;
    let tool = facts.tool.as_ref().map_or("none", |tool| tool.as_str());
    tracing::info!(
        target: "toolcrib::calls",
        call = %facts.call,
        run = facts.run.map(tracing::field::display),
        tool,
        origin = word(json!(facts.origin)),
        outcome = record.end.outcome.as_str(),
        error = record.end.error_type.map(|error| error.as_str()),
        args = facts.args.as_deref().map(shape),
        attempts = record.end.attempts,
        ms = Duration::from_nanos(record.end.run_nanos).as_millis() as u64,
        "call",
    );
}

/// Arguments that are listed.
const SHOWN: usize = 16;

/// The shape of arguments, such as `path:text(12) limit:number`. What is no plain name was made up by a model, and may say anything.
fn shape(args: &str) -> String {
    let Ok(Value::Object(args)) = serde_json::from_str(args) else { return "none".to_owned() };
    let is_plain = |name: &str| {
        name.len() <= 40 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let one = |(name, value): (&String, &Value)| {
        let name = if is_plain(name) { name } else { "?" };
        match value {
            Value::Null => format!("{name}:null"),
            Value::Bool(_) => format!("{name}:bool"),
            Value::Number(_) => format!("{name}:number"),
            Value::String(text) => format!("{name}:text({})", text.chars().count()),
            Value::Array(items) => format!("{name}:list({})", items.len()),
            Value::Object(members) => format!("{name}:object({})", members.len()),
        }
    };
    let mut shape: Vec<String> = args.iter().take(SHOWN).map(one).collect();
    if args.len() > SHOWN {
        shape.push(format!("and {} more", args.len() - SHOWN));
    }
    shape.join(" ")
}

/// The wire word of an enum's value.
fn word(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn span(record: &CallRecord, context: SpanContext, parent: Option<SpanContext>) -> FinishedSpan {
    let facts = &record.facts;
    let tool = facts.tool.as_ref().map_or("none", |tool| tool.as_str());
    let error = record.end.error_type.map(|error| error.as_str().to_owned());
    let end = SystemTime::now();
    // A call that never ran has no length; that of one that ran is what its tool took.
    let start = end.checked_sub(Duration::from_nanos(record.end.run_nanos)).unwrap_or(UNIX_EPOCH);
    let mut attributes: Vec<(&'static str, Attribute)> = vec![
        (names::OPERATION, names::EXECUTE_TOOL.into()),
        (names::TOOL_NAME, tool.into()),
        (names::TOOL_TYPE, names::FUNCTION.into()),
        (names::TOOL_CALL, facts.call.to_string().into()),
        (names::OUTCOME, record.end.outcome.as_str().into()),
        (names::ORIGIN, word(json!(facts.origin)).into()),
    ];
    let texts =
        [(names::AGENT, &facts.context.agent), (names::CONVERSATION, &facts.context.conversation)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        attributes.push((name, text.as_str().into()));
    }
    if let Some(run) = facts.run {
        attributes.push((names::RUN, run.to_string().into()));
    }
    if let Some(error) = &error {
        attributes.push((names::ERROR, error.as_str().into()));
    }
    FinishedSpan {
        name: format!("{} {tool}", names::EXECUTE_TOOL),
        kind: SpanKind::Internal,
        context,
        parent: parent.map(|parent| (parent.span, false)),
        start,
        end,
        attributes,
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_value_in_it() {
        let check = |args: Value, expected: &str| assert_eq!(shape(&args.to_string()), expected);
        let args = json!({"path": "a/b\nc", "n": 5, "on": true, "list": [1, 2], "of": {"a": 1}, "no": null});
        check(args, "path:text(5) n:number on:bool list:list(2) of:object(1) no:null");
        check(json!({"it says\n: secret": "x"}), "?:text(1)");
        check(json!({}), "");
        check(json!([1]), "none");
        let many = (0..20).map(|at| (format!("a{at}"), json!(at))).collect();
        assert!(shape(&Value::Object(many).to_string()).ends_with("a15:number and 4 more"));
    }
}
