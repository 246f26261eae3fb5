//! The audit: its records, the proof that nobody edited them, and an export that can be verified elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcrib_app::ANCHORS;
use toolcrib_app::audit::{
    Anchors, CallsReport, ChainReport, DecisionStores, DecisionsReport, Evidence, ExportFrom, Exporter,
    PUBLIC_KEY_FILE, Start, TrustedKeys, verify, verify_calls, verify_decisions,
};
use toolcrib_app::core::{AuditEvent, AuditRow, CallId, StoreError};

use crate::api::{Api, Json, Operation, Page, PageQuery, Query, cursor, of_cursor};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};

/// Records that one request looks at: a filter that nothing matches ends all the same.
const LOOKED_AT: u64 = 20_000;
/// Records of a chain that are read at once.
const WINDOW: u64 = 500;

/// Which records are wanted.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AuditQuery {
    /// Most records, 1 to 500; 50 when nobody says. A page may have fewer and still name a next one: what fits the filter may lie further back.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// What they are about: `settled`, `asked`, `decided`, `administered` … (docs/audit.md).
    kind: Option<String>,
    /// Canonical name of a tool.
    tool: Option<String>,
    /// Who decided, switched, or changed something.
    by: Option<String>,
    /// How calls ended: `succeeded`, `failed`, `denied` …
    outcome: Option<String>,
    /// A call.
    call: Option<String>,
    /// An agent.
    agent: Option<String>,
    /// Only of this time or later, in milliseconds since 1970.
    since: Option<i64>,
    /// Only before this time, in milliseconds since 1970.
    until: Option<i64>,
}

/// A record with its place.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RecordRow {
    /// Its chain; a database on one machine has one.
    chain: u64,
    /// Its number in the chain, from 1, without gaps.
    seq: u64,
    /// The hash over this record and the hash of the one before.
    hash: String,
    /// What is recorded (docs/audit.md). For those who see no arguments, without what may repeat them.
    record: Value,
}

/// What is to be verified.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct VerifyBody {
    /// Whether calls, questions, grants and switches are held against their records too: slower, every row is read.
    rows: bool,
}

/// What was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Verified {
    /// Whether nothing was found. A key that lies on this machine proves nothing to others: they verify an export with a key that they hold.
    sound: bool,
    /// Each chain with its findings.
    chains: Value,
    /// What became of the calls; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<Value>,
    /// The same of questions, grants and switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<Value>,
    /// What is odd and no finding.
    remarks: Vec<Value>,
}

/// How far the chain had grown when it was signed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Checkpointed {
    /// The checkpoint; absent = nothing is new since the last one, or there is no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Value>,
}

/// Where an export begins.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ExportQuery {
    /// Number of the first record.
    from: Option<u64>,
    /// In place of it: the first record of this time or later, in milliseconds since 1970.
    since: Option<i64>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/audit", Role::Viewer, "Lists records of the audit, newest first.");
    let list = list.query::<AuditQuery>();
    api.add(list.ok::<Page<RecordRow>>("Those that fit."), list_records);
    let verify = Operation::post(
        "/audit/verify",
        Role::Operator,
        "Verifies that no record was changed, taken out, added or moved.",
    );
    let verify = verify.about("With the key and the anchors of this machine. Every record is read.");
    api.add(verify.body::<VerifyBody>().ok::<Verified>("What was found."), verify_audit);
    let checkpoint = Operation::post("/audit/checkpoint", Role::Operator, "Signs the newest record.");
    api.add(checkpoint.ok::<Checkpointed>("It is signed."), checkpoint_now);
    let export = Operation::get(
        "/audit/export",
        Role::Owner,
        "Streams all records with hashes and checkpoints, as JSON lines.",
    );
    let export = export.about("`toolcrib audit verify FILE --key KEY` verifies it anywhere. A stream that breaks off has no last line `end`.");
    let export = export.query::<ExportQuery>();
    api.add(export.gives("application/x-ndjson", "One line per chain begin, checkpoint, record and chain end."), export_audit);
}

/// What of a record is left out for those who see no arguments: words that may repeat them, and what a person said first.
fn without_payloads(record: &mut Value) {
    let Some(object) = record.as_object_mut() else { return };
    object.remove("reasons");
    object.remove("policy");
    if let Some(Value::Object(context)) = object.get_mut("context") {
        context.remove("topic");
    }
}

fn row(row: &AuditRow, principal: &Principal) -> RecordRow {
    let mut record = serde_json::from_str(&row.text).unwrap_or_else(|_| json!(row.text));
    if !principal.sees_payloads() {
        without_payloads(&mut record);
    }
    RecordRow { chain: row.chain, seq: row.seq, hash: row.hash.clone(), record }
}

/// What is looked for.
struct Filter {
    query: AuditQuery,
    call: Option<CallId>,
    owner: String,
}

impl Filter {
    fn new(query: AuditQuery, principal: &Principal) -> Result<Self, Problem> {
        let call = match &query.call {
            Some(text) => {
                let unread = |_| Problem::invalid(format!("\"{text}\" is no id of a call"));
                Some(text.parse().map_err(unread)?)
            }
            None => None,
        };
        Ok(Self { query, call, owner: principal.owner.clone() })
    }

    fn takes(&self, row: &AuditRow) -> bool {
        // What is no record any more is shown to whoever looks for nothing special: it is what verification finds.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else { return self.is_open() };
        let word = |value: Value, wanted: &Option<String>| {
            wanted.as_deref().is_none_or(|wanted| value.as_str() == Some(wanted))
        };
        let query = &self.query;
        event.context.owner == self.owner
            && query.since.is_none_or(|since| event.at >= since)
            && query.until.is_none_or(|until| event.at < until)
            && self.call.is_none_or(|call| event.call == Some(call))
            && word(json!(event.kind), &query.kind)
            && word(json!(event.outcome), &query.outcome)
            && word(json!(event.tool), &query.tool)
            && word(json!(event.by), &query.by)
            && word(json!(event.context.agent), &query.agent)
    }

    fn is_open(&self) -> bool {
        let AuditQuery { kind, tool, by, outcome, agent, since, until, .. } = &self.query;
        let words = [kind, tool, by, outcome, agent];
        self.owner.is_empty()
            && self.call.is_none()
            && since.is_none()
            && until.is_none()
            && words.into_iter().all(Option::is_none)
    }
}

/// The newest records of all chains, backwards: of each chain the part that was read and not given yet.
struct Backwards<'a> {
    daemon: &'a Daemon,
    /// Number of the record before which the next one is looked for, by chain.
    before: BTreeMap<u64, u64>,
    read: BTreeMap<u64, Vec<AuditRow>>,
    looked_at: u64,
}

impl Backwards<'_> {
    /// The next record back; of several chains the one that was written last.
    async fn next(&mut self) -> Result<Option<AuditRow>, StoreError> {
        let chains: Vec<u64> = self.before.keys().copied().collect();
        for chain in &chains {
            self.fill(*chain).await?;
        }
        let newest = self.read.iter().filter_map(|(chain, rows)| Some((at(rows.last()?), *chain)));
        let Some((_, chain)) = newest.max() else { return Ok(None) };
        let row = self.read.get_mut(&chain).and_then(Vec::pop);
        if let Some(row) = &row {
            self.before.insert(chain, row.seq);
            self.looked_at += 1;
        }
        Ok(row)
    }

    async fn fill(&mut self, chain: u64) -> Result<(), StoreError> {
        let before = self.before.get(&chain).copied().unwrap_or_default();
        let rows = self.read.entry(chain).or_default();
        if !rows.is_empty() || before <= 1 {
            return Ok(());
        }
        let after = (before - 1).saturating_sub(WINDOW);
        let limit = usize::try_from(before - 1 - after).unwrap_or_default();
        *rows = self.daemon.stores().audit.records(chain, after, limit).await?;
        rows.retain(|row| row.seq < before);
        if rows.is_empty() {
            // A gap: what is further back is looked for all the same.
            self.before.insert(chain, after + 1);
        }
        Ok(())
    }
}

fn at(row: &AuditRow) -> i64 {
    #[derive(Deserialize)]
    struct At {
        at: i64,
    }
    serde_json::from_str::<At>(&row.text).map_or(i64::MIN, |event| event.at)
}

async fn list_records(
    State(daemon): State<Daemon>,
    principal: Principal,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<RecordRow>>, Problem> {
    let limit = PageQuery::rows(query.limit)?;
    let place: Option<Vec<(u64, u64)>> = of_cursor("audit", query.cursor.as_deref())?;
    let filter = Filter::new(query, &principal)?;
    let before: BTreeMap<u64, u64> = match place {
        Some(place) => place.into_iter().collect(),
        None => {
            let chains = daemon.stores().audit.chains().await?;
            chains.into_iter().map(|(chain, last)| (chain, last.saturating_add(1))).collect()
        }
    };
    if let Some(call) = filter.call {
        let mut rows = daemon.stores().audit.records_of(call).await?;
        rows.retain(|row| filter.takes(row));
        rows.reverse();
        return Ok(Json(Page::whole(rows.iter().map(|one| row(one, &principal)).collect())));
    }
    let mut back = Backwards { daemon: &daemon, before, read: BTreeMap::new(), looked_at: 0 };
    let mut items = Vec::new();
    let is_over = loop {
        if items.len() == limit || back.looked_at == LOOKED_AT {
            break back.before.values().all(|before| *before <= 1);
        }
        match back.next().await? {
            Some(found) if filter.takes(&found) => items.push(row(&found, &principal)),
            Some(_) => {}
            None => break back.before.values().all(|before| *before <= 1),
        }
    };
    let place: Vec<(u64, u64)> = back.before.into_iter().collect();
    let next = (!is_over).then(|| cursor("audit", &place));
    Ok(Json(Page { items, next }))
}

fn folder(daemon: &Daemon) -> PathBuf {
    daemon.toolcrib().state().join("audit")
}

/// What the records are held against. A key or anchors that are not there yet, because nothing was signed, are none.
fn evidence(folder: &std::path::Path) -> Result<Evidence, Problem> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Problem::new(Code::Unavailable, format!("{what} of the audit cannot be read: {error}"))
    };
    let keys = match std::fs::read_to_string(folder.join(PUBLIC_KEY_FILE)) {
        Ok(text) => TrustedKeys::parse(&text).map_err(|error| failed("the public key", &error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => TrustedKeys::default(),
        Err(error) => return Err(failed("the public key", &error)),
    };
    let path = folder.join(ANCHORS);
    let anchors = if path.exists() {
        Some(Anchors::read(&path).map_err(|error| failed("the anchors", &error))?)
    } else {
        None
    };
    Ok(Evidence { keys, anchors, start: Start::Genesis })
}

async fn verify_audit(
    State(daemon): State<Daemon>,
    principal: Principal,
    Json(body): Json<VerifyBody>,
) -> Result<Json<Verified>, Problem> {
    let folder = folder(&daemon);
    let evidence = tokio::task::spawn_blocking(move || evidence(&folder)).await;
    let evidence = evidence.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the key could not be read")))?;
    let stores = daemon.stores();
    let chains = verify(&*stores.audit, &evidence).await?;
    let mut sound = chains.iter().all(ChainReport::is_sound);
    let (mut calls, mut decisions) = (None, None);
    if body.rows {
        let owners = [principal.owner.as_str()];
        let decided = DecisionStores {
            approvals: &*stores.approvals,
            grants: &*stores.grants,
            switches: &*stores.switches,
        };
        let found: CallsReport =
            verify_calls(&*stores.audit, &*stores.calls, &*stores.history, &owners).await?;
        let other: DecisionsReport = verify_decisions(&*stores.audit, decided, &owners).await?;
        sound &= found.is_sound() && other.is_sound();
        calls = Some(json!(found));
        decisions = Some(json!(other));
    }
    let remarks = evidence.remark().iter().map(|remark| json!(remark)).collect();
    Ok(Json(Verified { sound, chains: json!(chains), calls, decisions, remarks }))
}

async fn checkpoint_now(State(daemon): State<Daemon>) -> Result<Json<Checkpointed>, Problem> {
    let checkpoint = daemon.stores().audit.checkpoint_now().await?;
    Ok(Json(Checkpointed { checkpoint: checkpoint.map(|checkpoint| json!(checkpoint)) }))
}

async fn export_audit(
    State(daemon): State<Daemon>,
    principal: Principal,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let from = match (query.from, query.since) {
        (None, None) => ExportFrom::Beginning,
        (Some(number), None) => ExportFrom::Number(number),
        (None, Some(time)) => ExportFrom::Time(time),
        (Some(_), Some(_)) => return Err(Problem::invalid("say `from` or `since`, not both")),
    };
    daemon.record(&principal, "audit.export", "").await?;
    // A few pages ahead of a slow reader, and no more; one that is gone ends it.
    let (send, receive) = mpsc::channel::<Result<Bytes, std::io::Error>>(2);
    tokio::spawn(async move {
        if let Err(error) = export(&daemon, from, &send).await {
            tracing::error!(%error, "an export of the audit broke off");
            let _ = send.send(Err(std::io::Error::other(error))).await;
        }
    });
    let pieces = stream::unfold(receive, |mut receive| async { Some((receive.recv().await?, receive)) });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
    ];
    Ok((StatusCode::OK, headers, Body::from_stream(pieces)).into_response())
}

async fn export(
    daemon: &Daemon,
    from: ExportFrom,
    to: &mpsc::Sender<Result<Bytes, std::io::Error>>,
) -> Result<(), StoreError> {
    let mut export = Exporter::new(&*daemon.stores().audit, from).await?;
    while let Some(lines) = export.next().await? {
        let mut text = String::new();
        for line in lines {
            text += &line.text();
            text.push('\n');
        }
        if to.send(Ok(text.into())).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
