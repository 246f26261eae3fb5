//! Remembered approvals (grants): listing and revoking them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_core::GrantId;
use toolcrib_ops::grants::{
    self, GrantReply, ListGrantsRequest, RevokeGrantRequest, RevokedGrant, ShowGrantRequest,
};
use toolcrib_ops::{OpError, Resource};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/grants", Role::Viewer, "Lists remembered approvals, oldest first.");
    api.add(
        list.returns_ok::<Page<GrantReply>>("All remembered approvals, including expired ones.")
            .etagged(),
        list_grants,
    );
    let show = Operation::get("/grants/{id}", Role::Viewer, "Shows a remembered approval.");
    api.add(show.returns_ok::<GrantReply>("The remembered approval."), show_grant);
    let revoke = Operation::delete(
        "/grants/{id}",
        Role::Approver,
        "Revokes a remembered approval: such calls are asked about again, at once.",
    );
    api.add(revoke.returns_ok::<RevokedGrant>("The remembered approval is revoked."), revoke_grant);
}

/// Parses the id of a grant. Other texts are reported as not found.
fn parse_id(text: &str) -> Result<GrantId, Problem> {
    text.parse().map_err(|_| OpError::not_found(Resource::Grant, text).into())
}

async fn list_grants(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let request = ListGrantsRequest { with_past_calls: false };
    let mut rows = grants::list(&daemon.store_context(&principal), request).await?;
    let tools = daemon.allowed_tools(&principal);
    rows.retain(|grant| tools.includes_operation(&grant.operation));
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

/// Returns a grant for one of the tools of this principal.
async fn find_grant(
    daemon: &DaemonState,
    principal: &Principal,
    id: GrantId,
) -> Result<GrantReply, Problem> {
    let request = ShowGrantRequest { id, with_past_calls: false };
    let grant = grants::show(&daemon.store_context(principal), request).await?;
    daemon.allowed_tools(principal).require_operation(&grant.operation)?;
    Ok(grant)
}

async fn show_grant(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<GrantReply>, Problem> {
    find_grant(&daemon, &principal, parse_id(&id)?).await.map(Json)
}

async fn revoke_grant(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<RevokedGrant>, Problem> {
    let request = RevokeGrantRequest { id: parse_id(&id)? };
    find_grant(&daemon, &principal, request.id).await?;
    Ok(Json(grants::revoke(&daemon.store_context(&principal), request).await?))
}
