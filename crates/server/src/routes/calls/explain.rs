//! Everything that is known of one call: the stages it passed, what policy said, who decided, what the audit has.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{CallId, StageRecord, WorkerState};

use super::document::CallDocument;
use super::list::CallSummary;
use super::look::Known;
use crate::api::{Json, Path};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;

/// Everything that is known of a call. A token that only looks is not shown arguments, results and words.
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
    /// Who runs it, of one that has not ended: `process 4711`; absent = nobody does.
    worker: Option<String>,
    /// Attempts before this one that a crash cut off.
    earlier: Vec<Value>,
    /// The question that a person was asked, with the decision.
    question: Option<Value>,
    /// Remembered approvals of its operation that were there when it came.
    grants: Vec<Value>,
    /// Records of the audit about it.
    audit: Vec<Value>,
}

pub(super) async fn explain(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(call): Path<CallId>,
) -> Result<Json<Explained>, Problem> {
    let known = Known::look_up(&daemon, &principal, call).await?;
    let payloads = principal.sees_payloads();
    let document = known.document(call);
    let report = known.stored.as_ref().and_then(|stored| Some(&stored.outcome.as_ref()?.report));
    let question = known
        .question
        .as_ref()
        .filter(|_| payloads)
        .map(|(waiting, decision)| json!({"request": waiting.request, "decision": decision}));
    Ok(Json(Explained {
        call: if payloads { document } else { document.without_payloads() },
        facts: known.stored.as_ref().map(|stored| CallSummary::of(&stored.row, payloads)),
        stages: report.iter().flat_map(|r| &r.stages).map(|one| stage(one, payloads)).collect(),
        ruling: report.filter(|_| payloads).and_then(|r| r.ruling.as_ref()).map(|r| json!(r)),
        labels: report.filter(|_| payloads).map(|report| json!(report.labels)),
        worker: worker(&daemon, &known).await?,
        earlier: known.stored.iter().flat_map(|s| &s.earlier).map(|cut| json!(cut)).collect(),
        question,
        grants: if payloads { grants(&daemon, &principal, &known).await? } else { Vec::new() },
        audit: if payloads { audit(&daemon, call).await? } else { Vec::new() },
    }))
}

/// A stage. Its words may repeat arguments.
fn stage(record: &StageRecord, payloads: bool) -> Value {
    let bare = || StageRecord { note: "".into(), ..record.clone() };
    if payloads { json!(record) } else { json!(bare()) }
}

async fn worker(daemon: &Daemon, known: &Known) -> Result<Option<String>, Problem> {
    let Some(stored) = known.stored.as_ref().filter(|stored| stored.row.end.is_none()) else {
        return Ok(None);
    };
    Ok(match daemon.stores().calls.worker(stored.row.epoch).await? {
        WorkerState::Alive(who) => Some(who),
        WorkerState::Gone | WorkerState::Unknown => None,
    })
}

async fn grants(
    daemon: &Daemon,
    principal: &Principal,
    known: &Known,
) -> Result<Vec<Value>, Problem> {
    let Some(stored) = &known.stored else { return Ok(Vec::new()) };
    let facts = &stored.row.facts;
    let grants = daemon.stores().grants.list(&principal.owner).await?;
    let fits = grants.iter().filter(|grant| {
        facts.operation.as_ref() == Some(&grant.operation)
            && facts.definition_hash.as_ref() == Some(&grant.definition_hash)
            && grant.created_at <= facts.received_at
    });
    Ok(fits.map(|grant| json!(grant)).collect())
}

async fn audit(daemon: &Daemon, call: CallId) -> Result<Vec<Value>, Problem> {
    let rows = daemon.stores().audit.records_of(call).await?;
    let shown = rows.iter().map(|row| {
        let record: Value = serde_json::from_str(&row.text).unwrap_or_default();
        json!({"chain": row.chain, "seq": row.seq, "hash": row.hash, "record": record})
    });
    Ok(shown.collect())
}
