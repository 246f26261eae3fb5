//! Calls, their ends and accepted batches to store.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    AcceptedBatch, ApprovalId, Batch, BatchId, Call, CallDetails, CallEnd, CallId, CallRecord,
    CallStore, Context, Effect, ErrorType, IdempotencyKey, Intent, ModelResult, Origin, Outcome,
    OutcomeKind, Recovered, Report, Risk, RunId, Settlement, StoreError, ToolError, ToolName,
    Trust,
};

/// What is known of a call of this owner with a fresh id, which reads, outside a run, received at
/// 1000.
///
/// # Panics
/// Never: its tool's name is a good one.
#[must_use]
pub fn facts(owner: &str) -> CallDetails {
    CallDetails {
        call: CallId::fresh(),
        run: None,
        origin: Origin::Model,
        context: Arc::new(Context { owner: owner.into(), ..Context::default() }),
        tool: Some(ToolName::local("read_file").unwrap()),
        asked: None,
        operation: Some("read_file".into()),
        definition_hash: Some("d1".into()),
        risk: Some(Risk::Safe),
        effect: Some(Effect::Read),
        args: Some(r#"{"path":"a"}"#.into()),
        args_hash: Some("h1".into()),
        approval: None,
        approved_by: None,
        policy: None,
        parent: None,
        received_at: 1_000,
    }
}

/// The intent of such a call with this effect, started at 1500 under this number.
#[must_use]
pub fn intent(effect: impl Into<Option<Effect>>, epoch: u64) -> Intent {
    let facts = CallDetails { effect: effect.into(), ..facts("ann") };
    Intent { facts, started_at: 1_500, epoch }
}

/// Everything that can be said of a call.
pub(super) fn full_facts() -> CallDetails {
    CallDetails {
        run: Some(RunId::fresh()),
        parent: Some(CallId::fresh()),
        origin: Origin::Device,
        context: Arc::new(Context {
            owner: "ann\u{e9}\u{0}".into(),
            agent: "baker".into(),
            conversation: "c1".into(),
            workspace: "/srv/\"shop\"".into(),
            channel: "chat".into(),
            device: "phone".into(),
            topic: "caf\u{e9}s \u{1f4a5}\n".into(),
            ..Context::default()
        }),
        asked: Some("ReadFile\u{0}".into()),
        operation: Some("file.read".into()),
        risk: Some(Risk::Critical),
        effect: Some(Effect::Destructive),
        args: Some(r#"{"a":[null,1e-7,18446744073709551615],"nul":"\u0000"}"#.into()),
        approval: Some(ApprovalId::fresh()),
        approved_by: Some("ben".into()),
        policy: Some("ask Bash(git push:*) (rules.toml:3)".into()),
        received_at: i64::MAX,
        ..facts("")
    }
}

/// Nothing but what is always known.
pub(super) fn bare_facts() -> CallDetails {
    CallDetails {
        tool: None,
        asked: Some("no such tool".into()),
        operation: None,
        definition_hash: None,
        risk: None,
        effect: None,
        args: None,
        args_hash: None,
        received_at: 0,
        ..facts("")
    }
}

/// An outcome whose text is hard to keep as it is.
#[must_use]
pub fn outcome(facts: &CallDetails, result: Result<Value, ToolError>) -> Outcome {
    let kind = result.as_ref().map_or_else(|e| e.error_type.outcome(), |_| OutcomeKind::Succeeded);
    let result = result.map(|result| ModelResult {
        result,
        media: Vec::new(),
        for_people: Vec::new(),
        resources: Vec::new(),
        structured: Some(json!({"z": 1, "a": [0.1, 1e300, -0.0, u64::MAX, i64::MIN]})),
        is_error: false,
        error_type: None,
        sandbox: None,
        artifact: None,
        trust: Trust::Workspace,
        source: Some("notes/\u{e9}.txt".into()),
        flagged: true,
        changes: vec!["1 invisible character".into()],
    });
    Outcome {
        call: facts.call,
        asked: "read_file".into(),
        tool: facts.tool.clone(),
        kind,
        result,
        notes: vec!["path was \"a\"".into()],
        report: Report { attempts: 2, run_nanos: 7, ..Report::default() },
        unrecorded: None,
    }
}

/// The end of a call that answered "done" at 2000.
#[must_use]
pub fn settlement(facts: CallDetails, started_at: Option<i64>, epoch: u64) -> Settlement {
    let outcome = outcome(&facts, Ok(json!("done")));
    end_with(facts, started_at, epoch, &outcome)
}

/// The end of a call with this outcome at 2000.
#[must_use]
pub fn end_with(
    facts: CallDetails,
    started_at: Option<i64>,
    epoch: u64,
    outcome: &Outcome,
) -> Settlement {
    let error: Option<&ToolError> = outcome.result.as_ref().err();
    let end = CallEnd {
        outcome: outcome.kind,
        error_type: error.map(|error| error.error_type),
        message: error.map(|error| error.message.clone()),
        attempts: u32::from(started_at.is_some()),
        run_nanos: 500_000,
        ended_at: 2_000,
        output_hash: None,
    };
    let record = CallRecord { facts, started_at, epoch, end };
    Settlement { record, outcome: None }.with_outcome(outcome)
}

/// The end of a call that was refused before it started.
#[must_use]
pub fn refusal(facts: CallDetails, epoch: u64) -> Settlement {
    let error = ToolError::new(ErrorType::PolicyDenied, "A rule forbids this.");
    let outcome = outcome(&facts, Err(error));
    end_with(facts, None, epoch, &outcome)
}

/// A batch of these calls, accepted at 1000 under this number.
#[must_use]
pub fn accepted(owner: &str, calls: &[CallId], epoch: u64) -> AcceptedBatch {
    let calls = calls
        .iter()
        .map(|id| Call { id: *id, ..Call::new("read_file", json!({"path": "\u{0}\u{e9}"})) })
        .collect();
    let context = Arc::new(Context { owner: owner.into(), ..Context::default() });
    AcceptedBatch {
        id: BatchId::fresh(),
        key: None,
        batch: Batch { context, ..Batch::new(Origin::Rest, calls) },
        accepted_at: 1_000,
        epoch,
    }
}

/// The same under a key.
pub(super) fn under_key(batch: AcceptedBatch, key: &str, fingerprint: &str) -> AcceptedBatch {
    let key = IdempotencyKey { key: key.into(), fingerprint: fingerprint.into() };
    AcceptedBatch { key: Some(key), ..batch }
}

/// An owner of calls that is gone.
pub(super) async fn released_epoch(store: &dyn CallStore) -> u64 {
    let epoch = store.claim().await.unwrap();
    store.release(epoch).await.unwrap();
    epoch
}

/// A batch has no equality of its own; its JSON says all there is.
pub(super) fn json_of(batch: &AcceptedBatch) -> Value {
    serde_json::to_value(batch).unwrap()
}

/// What a recovery ended, and the batches that were taken after it.
#[derive(Debug)]
pub struct Recovery {
    /// Calls that ended as `unknown`.
    pub unknown: Vec<CallId>,
    /// Calls that ended as `cancelled`.
    pub interrupted: Vec<CallId>,
    /// Batches that belong to the recovering process now.
    pub batches: Vec<AcceptedBatch>,
}

impl From<Recovered> for Recovery {
    fn from(found: Recovered) -> Self {
        let Recovered { unknown, interrupted } = found;
        Self { unknown, interrupted, batches: Vec::new() }
    }
}

/// Recovers the calls of dead processes, and takes their batches, as an engine does.
///
/// # Errors
/// The first error of the store.
pub async fn recover_and_take(
    store: &dyn CallStore,
    epoch: u64,
    now_ms: i64,
) -> Result<Recovery, StoreError> {
    let mut found = Recovery::from(store.recover(epoch, now_ms).await?);
    for batch in store.abandoned_batches().await? {
        if store.take_batch(batch.id, epoch).await? {
            found.batches.push(AcceptedBatch { epoch, ..batch });
        }
    }
    Ok(found)
}
