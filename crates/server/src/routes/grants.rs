//! Remembered approvals: listing and revoking them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_app::core::GrantId;
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
        list.returns_ok::<Page<GrantReply>>("All of them, expired ones too.").etagged(),
        list_grants,
    );
    let show = Operation::get("/grants/{id}", Role::Viewer, "Shows a remembered approval.");
    api.add(show.returns_ok::<GrantReply>("The remembered approval."), show_grant);
    let revoke = Operation::delete(
        "/grants/{id}",
        Role::Approver,
        "Takes a remembered approval back: such calls are asked about again, at once.",
    );
    api.add(revoke.returns_ok::<RevokedGrant>("It holds no longer."), revoke_grant);
}

/// A text that is no id names no grant.
fn parse_id(text: &str) -> Result<GrantId, Problem> {
    text.parse().map_err(|_| OpError::not_found(Resource::Grant, text).into())
}

async fn list_grants(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let request = ListGrantsRequest { with_past_calls: false };
    let rows = grants::list(&daemon.store_context(&principal), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_grant(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<GrantReply>, Problem> {
    let request = ShowGrantRequest { id: parse_id(&id)?, with_past_calls: false };
    Ok(Json(grants::show(&daemon.store_context(&principal), request).await?))
}

async fn revoke_grant(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<RevokedGrant>, Problem> {
    let request = RevokeGrantRequest { id: parse_id(&id)? };
    Ok(Json(grants::revoke(&daemon.store_context(&principal), request).await?))
}
