//! Remembered approvals: which there are, and taking them back.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{Clock as _, Grant, GrantId, SystemClock};

use crate::api::{Api, Json, Operation, Page, Path, etagged};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::{Principal, Role};

/// A remembered approval: calls that are no longer asked about.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct GrantRow {
    /// Its id.
    id: String,
    /// The operation it covers, exactly.
    operation: String,
    /// What arguments must look like, by name: a glob for each; empty = any. Left out for those who see no arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
    /// Hash of the tool's definition: a changed tool is asked about again.
    definition_hash: String,
    /// Reasons of asking that it answers.
    reasons: Value,
    /// The highest risk it answers for: `safe`, `high` or `critical`.
    risk: Value,
    /// How long it holds: `run`, `conversation` or `always`.
    scope: Value,
    /// The run, for the scope `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The conversation, for the scope `conversation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// Who gave it.
    created_by: String,
    /// Milliseconds since 1970.
    created_at: i64,
    /// Milliseconds since 1970; absent = until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

/// A remembered approval was taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Revoked {
    /// Its id.
    revoked: String,
    /// Who took it back.
    by: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/grants", Role::Viewer, "Lists remembered approvals, oldest first.");
    api.add(list.ok::<Page<GrantRow>>("All of them, expired ones too.").etagged(), list_grants);
    let show = Operation::get("/grants/{id}", Role::Viewer, "Shows a remembered approval.");
    api.add(show.ok::<GrantRow>("The remembered approval."), show_grant);
    let revoke = Operation::delete(
        "/grants/{id}",
        Role::Approver,
        "Takes a remembered approval back: such calls are asked about again, at once.",
    );
    api.add(revoke.ok::<Revoked>("It holds no longer."), revoke_grant);
}

fn row(grant: Grant, principal: &Principal) -> GrantRow {
    GrantRow {
        id: grant.id.to_string(),
        operation: grant.operation,
        args: principal.sees_payloads().then(|| json!(grant.args)),
        definition_hash: grant.definition_hash,
        reasons: json!(grant.reasons),
        risk: json!(grant.risk),
        scope: json!(grant.scope),
        run: grant.run.map(|run| run.to_string()),
        conversation: grant.conversation,
        created_by: grant.created_by,
        created_at: grant.created_at,
        expires_at: grant.expires_at,
    }
}

async fn list_grants(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let grants = daemon.stores().grants.list(&principal.owner).await?;
    let rows = grants.into_iter().map(|grant| row(grant, &principal)).collect();
    Ok(etagged(&headers, &Page::whole(rows)))
}

/// A remembered approval of this owner; those of others are not there.
async fn find(daemon: &Daemon, principal: &Principal, id: &str) -> Result<Grant, Problem> {
    let missing = || Problem::not_found(format!("there is no remembered approval {id}"));
    let wanted: GrantId = id.parse().map_err(|_| missing())?;
    let grants = daemon.stores().grants.list(&principal.owner).await?;
    grants.into_iter().find(|grant| grant.id == wanted).ok_or_else(missing)
}

async fn show_grant(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<GrantRow>, Problem> {
    Ok(Json(row(find(&daemon, &principal, &id).await?, &principal)))
}

/// The store records who took it back, in the commit of the row.
async fn revoke_grant(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<Revoked>, Problem> {
    let grant = find(&daemon, &principal, &id).await?;
    let now = SystemClock.now_ms();
    if !daemon.stores().grants.revoke(grant.id, &principal.name, now).await? {
        return Err(Problem::not_found(format!("{id} was revoked just now by somebody else")));
    }
    Ok(Json(Revoked { revoked: id, by: principal.name }))
}
