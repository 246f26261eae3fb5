//! Everything that is known of one call, as JSON.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::{AuditRow, CallId};
use toolcrib_ops::calls::{
    self, CallDocument, CallSummary, CallWorker, ExplainCallReply, ExplainCallRequest,
};

use crate::api::{Json, Path};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Everything that is known of a call. A token that only looks is not shown arguments, results and
/// words.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Explained {
    /// Where it stands, and what came of it.
    call: CallDocument,
    /// What is recorded of it; absent = nothing yet.
    facts: Option<CallSummary>,
    /// The stages that it passed, each with what it decided, why, and the nanoseconds it took.
    stages: Vec<Value>,
    /// What policy said, with the rule.
    ruling: Option<Value>,
    /// What its run had read before.
    labels: Option<Value>,
    /// Who runs it, of one that has not ended: `process 4711`; absent = no process.
    worker: Option<String>,
    /// Attempts before this one that a crash cut off.
    earlier: Vec<Value>,
    /// The question that a person was asked, with the decision.
    question: Option<Value>,
    /// Remembered approvals of its operation that were there when it came.
    grants: Vec<Value>,
    /// The calls that it made, such as those of a script, oldest first, at most 200.
    calls: Vec<CallSummary>,
    /// Records of the audit about it.
    audit: Vec<Value>,
}

impl From<ExplainCallReply> for Explained {
    fn from(reply: ExplainCallReply) -> Self {
        let who = |worker| match worker {
            CallWorker::Alive { who } => Some(who),
            CallWorker::Gone | CallWorker::Unknown => None,
        };
        let question = reply
            .question
            .map(|asked| json!({"request": asked.waiting.request, "decision": asked.decision}));
        Self {
            call: reply.document,
            facts: reply.row.as_ref().map(|row| CallSummary::new(row, reply.undone_at)),
            stages: reply.stages.iter().map(|stage| json!(stage)).collect(),
            ruling: reply.ruling.map(|ruling| json!(ruling)),
            labels: reply.labels.map(|labels| json!(labels)),
            worker: reply.worker.and_then(who),
            earlier: reply.earlier.iter().map(|attempt| json!(attempt)).collect(),
            question,
            grants: reply.grants.iter().map(|grant| json!(grant)).collect(),
            calls: reply.children.iter().map(|row| CallSummary::new(row, None)).collect(),
            audit: reply.audit.iter().map(audit_record).collect(),
        }
    }
}

fn audit_record(row: &AuditRow) -> Value {
    let record: Value = serde_json::from_str(&row.text).unwrap_or_default();
    json!({"chain": row.chain, "seq": row.seq, "hash": row.hash, "record": record})
}

pub(super) async fn explain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<CallId>,
) -> Result<Json<Explained>, Problem> {
    let ctx = daemon.store_context(&principal);
    daemon.require_call(&principal, call).await?;
    Ok(Json(calls::explain(&ctx, ExplainCallRequest { call }).await?.into()))
}
