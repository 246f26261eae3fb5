//! Pairings: creating codes, taking claims, confirming and refusing them.

use std::collections::BTreeMap;

use axum::extract::{OriginalUri, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::apps::{
    self, AppReply, ClaimReply, ClaimRequest, ConfirmPairingRequest, NewPairingReply, PairingReply,
    RiskName,
};

use super::apps::signed_request;
use crate::api::{Api, Bytes, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Bytes of a claim.
const MAX_CLAIM: usize = 512 * 1024;

/// A confirmation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConfirmBody {
    /// The fingerprint that the owner has compared with the one that the app shows.
    fingerprint: String,
    /// The risk of tools, by their names at the app. Others are high, or critical if the app says
    /// so.
    #[serde(default)]
    risks: BTreeMap<String, RiskName>,
}

pub(super) fn routes(api: &mut Api) {
    let create = Operation::post("/pairings", Role::Owner, "Creates a pairing code for an app.");
    let create = create.description("The code is shown once. It is valid for 5 minutes and for one app; five wrong codes end every open code.");
    api.add(create.returns::<NewPairingReply>(201, "The code."), create_pairing);
    let list = Operation::get("/pairings", Role::Owner, "Lists the pairings of the last day.");
    let about = "The pairings, newest first; `claimed` ones wait for a decision.";
    api.add(list.returns_ok::<Page<PairingReply>>(about).etagged(), list_pairings);
    let show = Operation::get("/pairings/{pairing}", Role::Owner, "Shows a pairing.");
    api.add(show.returns_ok::<PairingReply>("The pairing."), show_pairing);
    let claim = Operation::post("/pairings/claim", Role::Viewer, "Claims a pairing, as an app.");
    let claim = claim.public().description("The app sends the code, and signs the request with the key that it names (the documentation of apps has the details). The answer has the key with which the daemon signs. The pairing counts once the owner has confirmed it.");
    let claim = claim.body::<ClaimRequest>();
    api.add(claim.returns::<ClaimReply>(201, "The owner has to confirm it."), claim_pairing);
    let confirm =
        Operation::post("/pairings/{pairing}/confirm", Role::Owner, "Confirms a pairing.");
    let confirm = confirm.body::<ConfirmBody>();
    api.add(confirm.returns::<AppReply>(201, "The app is paired."), confirm_pairing);
    let refuse = Operation::delete(
        "/pairings/{pairing}",
        Role::Owner,
        "Refuses an app that waits, or ends a code.",
    );
    api.add(refuse.returns_ok::<PairingReply>("The pairing has ended."), refuse_pairing);
}

async fn create_pairing(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Response, Problem> {
    let reply = apps::pair(&daemon.op_context(&principal, None)).await?;
    Ok((StatusCode::CREATED, Json(reply)).into_response())
}

async fn list_pairings(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = apps::pairings(&daemon.op_context(&principal, None)).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_pairing(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(pairing): Path<String>,
) -> Result<Json<PairingReply>, Problem> {
    Ok(Json(apps::pairing(&daemon.op_context(&principal, None), &pairing).await?))
}

async fn claim_pairing(
    State(daemon): State<DaemonState>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let request = signed_request(&uri, &headers, &body, MAX_CLAIM)?;
    daemon.claim_limits().count("claim")?;
    let reply = apps::claim(daemon.toolcrib(), request).await?;
    Ok((StatusCode::CREATED, Json(reply)).into_response())
}

async fn confirm_pairing(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(pairing): Path<String>,
    Json(body): Json<ConfirmBody>,
) -> Result<Response, Problem> {
    let ConfirmBody { fingerprint, risks } = body;
    let request = ConfirmPairingRequest { pairing, fingerprint, risks };
    let reply = apps::confirm(&daemon.op_context(&principal, None), request).await?;
    Ok((StatusCode::CREATED, Json(reply)).into_response())
}

async fn refuse_pairing(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(pairing): Path<String>,
) -> Result<Json<PairingReply>, Problem> {
    Ok(Json(apps::refuse(&daemon.op_context(&principal, None), &pairing).await?))
}
