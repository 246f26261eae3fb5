//! Records of the audit, newest first.

use std::collections::BTreeMap;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{AuditEvent, AuditRow, CallId, StoreError};

use crate::api::{Json, Page, PageQuery, Query, cursor, parse_cursor};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Records that one request looks at: a filter that nothing matches ends all the same.
const MAX_SCANNED: u64 = 20_000;
/// Records of a chain that are read at once.
const WINDOW: u64 = 500;

/// Which records are wanted.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Most records, 1 to 500; default 50. A page may have fewer and still name a next one: what
    /// fits the filter may lie further back.
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
pub(super) struct RecordRow {
    /// Its chain; a database on one machine has one.
    chain: u64,
    /// Its number in the chain, from 1, without gaps.
    seq: u64,
    /// The hash over this record and the hash of the one before.
    hash: String,
    /// What is recorded (docs/audit.md). For those who see no arguments, without what may repeat
    /// them.
    record: Value,
}

/// What of a record is left out for those who see no arguments: words that may repeat them, and
/// what a person said first.
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
        // A damaged record is shown in unfiltered lists: verification reports it.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else {
            return self.is_open();
        };
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

/// The newest records of all chains, backwards: of each chain the part that was read and not given
/// yet.
struct ReverseReader<'a> {
    daemon: &'a DaemonState,
    /// Number of the record before which the next one is looked for, by chain.
    before: BTreeMap<u64, u64>,
    read: BTreeMap<u64, Vec<AuditRow>>,
    looked_at: u64,
}

impl ReverseReader<'_> {
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

pub(super) async fn list_records(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<RecordRow>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let place: Option<Vec<(u64, u64)>> = parse_cursor("audit", query.cursor.as_deref())?;
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
        return Ok(Json(Page::single_page(rows.iter().map(|one| row(one, &principal)).collect())));
    }
    let mut back = ReverseReader { daemon: &daemon, before, read: BTreeMap::new(), looked_at: 0 };
    let mut items = Vec::new();
    let is_over = loop {
        if items.len() == limit || back.looked_at == MAX_SCANNED {
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
