//! Paired apps: listing, renaming, reviewing, testing and revoking them, and what they send.

use std::collections::BTreeMap;

use axum::extract::{OriginalUri, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_devices::{InboundRequest, NONCE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use toolcrib_ops::apps::{
    self, AcceptAppReviewRequest, AppMessageReply, AppMessageRequest, AppReply, AppReview,
    RenameAppRequest, RevokeAppRequest, RiskName, SignalsReply, SignalsRequest, TestedAppReply,
};

use crate::api::{Api, Bytes, Json, Operation, Page, Path, etag_response};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Bytes of signals and messages.
const MAX_BODY: usize = 128 * 1024;

/// A change of an app.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameAppBody {
    /// The new name. The tools of the app are then `if_NAME__TOOL`.
    name: String,
}

/// A review to accept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptReviewBody {
    /// The digest of the review that the owner has read.
    digest: String,
    /// The risk of tools, by their names at the app.
    #[serde(default)]
    risks: BTreeMap<String, RiskName>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/apps", Role::Viewer, "Lists paired apps.");
    api.add(list.returns_ok::<Page<AppReply>>("The apps, by name.").etagged(), list_apps);
    let show = Operation::get("/apps/{app}", Role::Viewer, "Shows a paired app.");
    api.add(show.returns_ok::<AppReply>("The app."), show_app);
    let rename = Operation::put("/apps/{app}", Role::Owner, "Renames a paired app.");
    let rename = rename.body::<RenameAppBody>();
    api.add(rename.returns_ok::<AppReply>("The app under its new name."), rename_app);
    let revoke = Operation::delete("/apps/{app}", Role::Owner, "Revokes a paired app.");
    api.add(revoke.returns_ok::<AppReply>("The app was removed."), revoke_app);
    let review = Operation::get(
        "/apps/{app}/review",
        Role::Viewer,
        "Shows the definitions of an app that wait for a review.",
    );
    api.add(review.returns_ok::<AppReview>("The differences."), review_app);
    let accept = Operation::post(
        "/apps/{app}/review",
        Role::Owner,
        "Accepts the definitions of an app that wait for a review.",
    );
    let accept = accept.body::<AcceptReviewBody>();
    api.add(accept.returns_ok::<AppReply>("The app with its reviewed tools."), accept_review);
    let test = Operation::post("/apps/{app}/test", Role::Operator, "Tests a paired app now.");
    api.add(test.returns_ok::<TestedAppReply>("The app answers."), test_app);
    let signed = "The app signs its request: `X-Toolcrib-Timestamp` has the Unix time in seconds, at most 60 s from the daemon's, `X-Toolcrib-Nonce` 16 to 64 characters that are used once, and `X-Toolcrib-Signature` the signature in base64 over `toolcrib-request-v1`, method, path, time, nonce and the SHA-256 of the body in hexadecimal digits, one per line.";
    let signals = Operation::post("/apps/{app}/signals", Role::Viewer, "Sends signals of an app.");
    let signals = signals.public().description(signed).body::<SignalsRequest>();
    api.add(signals.returns::<SignalsReply>(202, "What became of each signal."), send_signals);
    let message =
        Operation::post("/apps/{app}/messages", Role::Viewer, "Sends a message of an app.");
    let message = message.public().description(signed).body::<AppMessageRequest>();
    let kept = "The next heartbeat looks at the message.";
    api.add(message.returns::<AppMessageReply>(202, kept), send_message);
}

async fn list_apps(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = apps::list(&daemon.op_context(&principal, None)).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_app(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
) -> Result<Json<AppReply>, Problem> {
    Ok(Json(apps::show(&daemon.op_context(&principal, None), &app).await?))
}

async fn rename_app(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
    Json(body): Json<RenameAppBody>,
) -> Result<Json<AppReply>, Problem> {
    let request = RenameAppRequest { app, name: body.name };
    Ok(Json(apps::rename(&daemon.op_context(&principal, None), request).await?))
}

async fn revoke_app(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
) -> Result<Json<AppReply>, Problem> {
    let request = RevokeAppRequest { app };
    Ok(Json(apps::revoke(&daemon.op_context(&principal, None), request).await?))
}

async fn review_app(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
) -> Result<Json<AppReview>, Problem> {
    Ok(Json(apps::review(&daemon.op_context(&principal, None), &app).await?))
}

async fn accept_review(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
    Json(body): Json<AcceptReviewBody>,
) -> Result<Json<AppReply>, Problem> {
    let request = AcceptAppReviewRequest { app, digest: body.digest, risks: body.risks };
    Ok(Json(apps::accept_review(&daemon.op_context(&principal, None), request).await?))
}

async fn test_app(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(app): Path<String>,
) -> Result<Json<TestedAppReply>, Problem> {
    Ok(Json(apps::test(&daemon.op_context(&principal, None), &app).await?))
}

async fn send_signals(
    State(daemon): State<DaemonState>,
    Path(app): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let request = signed_request(&uri, &headers, &body, MAX_BODY)?;
    let app = apps::authenticate(daemon.toolcrib(), &app, request).await?;
    // Counted here, so that a stranger without the key uses nothing up.
    daemon.app_limits().count(&app.id)?;
    let reply = apps::send_signals(daemon.toolcrib(), &app, &body)?;
    Ok((StatusCode::ACCEPTED, Json(reply)).into_response())
}

async fn send_message(
    State(daemon): State<DaemonState>,
    Path(app): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let request = signed_request(&uri, &headers, &body, MAX_BODY)?;
    let app = apps::authenticate(daemon.toolcrib(), &app, request).await?;
    daemon.app_limits().count(&app.id)?;
    let reply = apps::send_message(daemon.toolcrib(), &app, &body).await?;
    Ok((StatusCode::ACCEPTED, Json(reply)).into_response())
}

/// Returns the signed parts of a `POST` of an app.
pub(super) fn signed_request<'a>(
    uri: &'a Uri,
    headers: &'a HeaderMap,
    body: &'a [u8],
    max_body: usize,
) -> Result<InboundRequest<'a>, Problem> {
    if body.len() > max_body {
        let detail = format!("the body has more than {} KiB", max_body >> 10);
        return Err(Problem::new(Code::TooLarge, detail));
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(timestamp), Some(nonce), Some(signature)) =
        (header(TIMESTAMP_HEADER), header(NONCE_HEADER), header(SIGNATURE_HEADER))
    else {
        let detail = "send X-Toolcrib-Timestamp, X-Toolcrib-Nonce and X-Toolcrib-Signature, as the documentation of apps says";
        return Err(Problem::new(Code::BadRequest, detail));
    };
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    Ok(InboundRequest { method: "POST", path, timestamp, nonce, signature, body })
}
