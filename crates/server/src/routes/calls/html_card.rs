//! The HTML cards of a call, under a policy that runs no scripts and loads nothing.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use toolcrib_core::CallId;
use toolcrib_ops::calls::{self, HtmlCardRequest};

use crate::api::{Api, Operation, Path};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Policy of a card: it is rendered, and a click opens its links. Without `allow-scripts`,
/// `allow-same-origin` only lets the page around it measure its height.
const POLICY: &str = "sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox; default-src 'none'; \
    style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get(
        "/calls/{id}/card",
        Role::Caller,
        "Gives the HTML cards that a call shows to people.",
    );
    let show = show.description("One document with all HTML cards of the call, rewritten from an allow-list, under a policy that runs and loads nothing. Put it into a frame with `sandbox=\"allow-same-origin allow-popups allow-popups-to-escape-sandbox\"`: without `allow-scripts`.");
    api.add(show.returns_media("text/html; charset=utf-8", "The cards."), show_card);
}

async fn show_card(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<CallId>,
) -> Result<Response, Problem> {
    daemon.require_call(&principal, call).await?;
    let ctx = daemon.op_context(&principal, None);
    let html = calls::html_card(&ctx, HtmlCardRequest { call }).await?;
    let fixed = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
    ];
    Ok((fixed, html).into_response())
}
