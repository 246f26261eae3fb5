//! The stored information about one call, as a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::AuditRow;

use super::document::CallDocument;
use super::explain::{CallWorker, ExplainCallReply};
use super::summary::CallSummary;

/// The stored information about a call. Viewers do not see arguments, results and texts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Explained")]
pub struct ExplainedCall {
    /// Its state and outcome.
    pub call: CallDocument,
    /// Its recorded data; absent = none yet.
    pub facts: Option<CallSummary>,
    /// The stages that it passed, each with its decision, the reason, and its duration in
    /// nanoseconds.
    pub stages: Vec<Value>,
    /// The ruling of policy, with the rule.
    pub ruling: Option<Value>,
    /// Taint labels of its run from before the call.
    pub labels: Option<Value>,
    /// The process that runs it, if it has not ended, such as `process 4711`; absent = no process.
    pub worker: Option<String>,
    /// Earlier attempts that a crash interrupted.
    pub earlier: Vec<Value>,
    /// The question that a person was asked, with the decision.
    pub question: Option<Value>,
    /// Remembered approvals of its operation that existed when it was received.
    pub grants: Vec<Value>,
    /// Its child calls, such as those of a script, oldest first, at most 200.
    pub calls: Vec<CallSummary>,
    /// Records of the audit about it.
    pub audit: Vec<Value>,
}

impl From<&ExplainCallReply> for ExplainedCall {
    fn from(reply: &ExplainCallReply) -> Self {
        let who = |worker: &CallWorker| match worker {
            CallWorker::Alive { who } => Some(who.clone()),
            CallWorker::Gone | CallWorker::Unknown => None,
        };
        let question = reply
            .question
            .as_ref()
            .map(|asked| json!({"request": asked.waiting.request, "decision": asked.decision}));
        Self {
            call: reply.document.clone(),
            facts: reply.row.as_ref().map(|row| CallSummary::new(row, reply.undone_at)),
            stages: reply.stages.iter().map(|stage| json!(stage)).collect(),
            ruling: reply.ruling.as_ref().map(|ruling| json!(ruling)),
            labels: reply.labels.as_ref().map(|labels| json!(labels)),
            worker: reply.worker.as_ref().and_then(who),
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
