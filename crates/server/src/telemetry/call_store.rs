//! Telemetry of calls, recorded when their outcome is stored, so that each is counted exactly once.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{
    Acceptance, AcceptedBatch, BatchId, BoxFuture, CallId, CallRecord, CallRow, CallStore, Intent,
    Recovered, Settlement, StoreError, StoredCall, WorkerState,
};

use super::recorder::Telemetry;
use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{request_context, semantic_conventions};

impl Telemetry {
    /// Wraps the store of calls, so that calls are counted and traced. Pass the result to the
    /// builder of the Toolcrib.
    #[must_use]
    pub fn instrument_stores(&self, stores: Stores) -> Stores {
        let inner = Arc::clone(&stores.calls);
        let calls = Arc::new(InstrumentedCallStore { inner, telemetry: self.clone() });
        Stores { calls, ..stores }
    }
}

/// A store of calls that records telemetry.
struct InstrumentedCallStore {
    inner: Arc<dyn CallStore>,
    telemetry: Telemetry,
}

impl CallStore for InstrumentedCallStore {
    fn keeps_details(&self) -> bool {
        self.inner.keeps_details()
    }

    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.claim()
    }

    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.release(epoch)
    }

    fn release_former(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.release_former()
    }

    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        self.inner.worker(epoch)
    }

    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.inner.accept(batch)
    }

    fn accept_ahead(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.inner.accept_ahead(batch)
    }

    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.take_batch(id, epoch)
    }

    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        self.inner.batch_of(call)
    }

    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.finish_batch(id)
    }

    fn shorten_batch(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.shorten_batch(batch)
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.begin(intent)
    }

    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.suspend(call, epoch)
    }

    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        let record = settlement.record.clone();
        // Read the parent in the task of the request, because the future may move to another task.
        let parent = self.telemetry.parent(&record);
        let settling = self.inner.settle(settlement);
        Box::pin(async move {
            let settled = settling.await;
            match &settled {
                Ok(()) => self.telemetry.call_ended(&record, parent),
                // Counting an outcome that the store does not have would contradict the history.
                Err(error) => tracing::warn!(
                    target: "toolcrib::calls",
                    call = %record.facts.call,
                    %error,
                    "the outcome of a call could not be recorded"
                ),
            }
            settled
        })
    }

    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        self.inner.call(call)
    }

    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.inner.outcome_text(call)
    }

    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>> {
        self.inner.abandoned_batches()
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.inner.open_calls()
    }

    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(async move {
            let recovered = self.inner.recover(epoch, now_ms).await?;
            let Recovered { unknown, interrupted } = &recovered;
            self.telemetry.metrics().record_recovery(unknown.len(), interrupted.len());
            Ok(recovered)
        })
    }
}

impl Telemetry {
    fn call_ended(&self, record: &CallRecord, parent: Option<SpanContext>) {
        self.metrics().record_call(record);
        log(record);
        let Some(spans) = self.spans() else { return };
        let context =
            parent.map_or_else(|| SpanContext::root(spans.sample_ratio()), SpanContext::child);
        if context.sampled {
            spans.export(span(record, context, parent));
        }
    }

    /// Returns the parent span of a call: its run, or its request; `None` if neither is traced.
    fn parent(&self, record: &CallRecord) -> Option<SpanContext> {
        self.spans()?;
        let of_request = self.call_contexts().take(&record.facts.call);
        let of_run = record.facts.run.and_then(|run| self.run_contexts().get(&run));
        of_run.or(of_request).or_else(request_context::span_context)
    }
}

/// Logs a call with its outcome and the shape of its arguments: their names, types and lengths, but
/// no values.
fn log(record: &CallRecord) {
    let facts = &record.facts;
    let tool = facts.tool.as_ref().map_or("none", |tool| tool.as_str());
    tracing::info!(
        target: "toolcrib::calls",
        call = %facts.call,
        run = facts.run.map(tracing::field::display),
        tool,
        origin = enum_text(json!(facts.origin)),
        outcome = record.end.outcome.as_str(),
        error = record.end.error_type.map(|error| error.as_str()),
        args = facts.args.as_deref().map(args_shape),
        attempts = record.end.attempts,
        ms = Duration::from_nanos(record.end.run_nanos).as_millis() as u64,
        "call",
    );
}

/// Maximum number of listed arguments.
const MAX_SHAPE_FIELDS: usize = 16;

/// Returns the shape of arguments, such as `path:text(12) limit:number`. A name with unusual
/// characters is replaced: the model generated it, so it may contain anything.
fn args_shape(args: &str) -> String {
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
    let mut shape: Vec<String> = args.iter().take(MAX_SHAPE_FIELDS).map(one).collect();
    if args.len() > MAX_SHAPE_FIELDS {
        shape.push(format!("and {} more", args.len() - MAX_SHAPE_FIELDS));
    }
    shape.join(" ")
}

/// Returns the text of a serialized enum.
fn enum_text(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn span(record: &CallRecord, context: SpanContext, parent: Option<SpanContext>) -> FinishedSpan {
    let facts = &record.facts;
    let tool = facts.tool.as_ref().map_or("none", |tool| tool.as_str());
    let error = record.end.error_type.map(|error| error.as_str().to_owned());
    let end = SystemTime::now();
    // The duration is the run time of the tool, which is zero for a call that never ran.
    let start = end.checked_sub(Duration::from_nanos(record.end.run_nanos)).unwrap_or(UNIX_EPOCH);
    let mut attributes: Vec<(&'static str, Attribute)> = vec![
        (semantic_conventions::OPERATION, semantic_conventions::EXECUTE_TOOL.into()),
        (semantic_conventions::TOOL_NAME, tool.into()),
        (semantic_conventions::TOOL_TYPE, semantic_conventions::FUNCTION.into()),
        (semantic_conventions::TOOL_CALL, facts.call.to_string().into()),
        (semantic_conventions::OUTCOME, record.end.outcome.as_str().into()),
        (semantic_conventions::ORIGIN, enum_text(json!(facts.origin)).into()),
    ];
    let texts = [
        (semantic_conventions::AGENT, &facts.context.agent),
        (semantic_conventions::CONVERSATION, &facts.context.conversation),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        attributes.push((name, text.as_str().into()));
    }
    if let Some(run) = facts.run {
        attributes.push((semantic_conventions::RUN, run.to_string().into()));
    }
    if let Some(error) = &error {
        attributes.push((semantic_conventions::ERROR, error.as_str().into()));
    }
    FinishedSpan {
        name: format!("{} {tool}", semantic_conventions::EXECUTE_TOOL),
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
    fn a_shape_contains_no_values() {
        let check =
            |args: Value, expected: &str| assert_eq!(args_shape(&args.to_string()), expected);
        let args = json!({"path": "a/b\nc", "n": 5, "on": true, "list": [1, 2], "of": {"a": 1}, "no": null});
        check(args, "path:text(5) n:number on:bool list:list(2) of:object(1) no:null");
        check(json!({"it says\n: secret": "x"}), "?:text(1)");
        check(json!({}), "");
        check(json!([1]), "none");
        let many = (0..20).map(|at| (format!("a{at}"), json!(at))).collect();
        assert!(args_shape(&Value::Object(many).to_string()).ends_with("a15:number and 4 more"));
    }
}
