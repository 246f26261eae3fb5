//! Records of the audit, newest first.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::audit::{self, ListRecordsRequest, RecordFilter, RecordReply};

use crate::api::{Json, Page, PageQuery, Query, cursor, parse_cursor};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Name of the list in cursors.
const LIST: &str = "audit";

/// Filters of records.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// The maximum number of records, 1 to 500; default 50. A page may have fewer and still name a
    /// next one, because matching records may be older.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
    /// Kinds of records: `settled`, `asked`, `decided`, `administered` … (docs/audit.md).
    kind: Option<String>,
    /// Canonical name of a tool.
    tool: Option<String>,
    /// The person or token that decided, switched or changed something.
    by: Option<String>,
    /// Outcomes of calls: `succeeded`, `failed`, `denied` …
    outcome: Option<String>,
    /// A call.
    call: Option<String>,
    /// An agent.
    agent: Option<String>,
    /// Only records of this time or later, in milliseconds since 1970.
    since: Option<i64>,
    /// Only records before this time, in milliseconds since 1970.
    until: Option<i64>,
}

impl AuditQuery {
    fn into_filter(self) -> Result<RecordFilter, Problem> {
        let call = self.call.as_deref().map(|text| {
            text.parse()
                .map_err(|_| Problem::invalid(format!("\"{text}\" is not the id of a call")))
        });
        Ok(RecordFilter {
            kind: self.kind,
            tool: self.tool,
            by: self.by,
            outcome: self.outcome,
            call: call.transpose()?,
            agent: self.agent,
            since: self.since,
            until: self.until,
        })
    }
}

pub(super) async fn list_records(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<RecordReply>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let positions: Option<Vec<(u64, u64)>> = parse_cursor(LIST, query.cursor.as_deref())?;
    let before = positions.map(|positions| positions.into_iter().collect());
    let request = ListRecordsRequest { filter: query.into_filter()?, before, limit };
    let reply = audit::list(&daemon.store_context(&principal), request).await?;
    let next = reply.next.map(|next| cursor(LIST, &next.into_iter().collect::<Vec<_>>()));
    Ok(Json(Page { items: reply.records, next }))
}
