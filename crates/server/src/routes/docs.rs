//! The documentation as a page: rendered from the same operations as the OpenAPI document, without
//! external resources and without scripts.

mod example;
mod page;

use std::sync::OnceLock;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::operations;
use crate::api::{Api, Operation, document, etag, etag_matches};
use crate::role::Role;
use crate::state::DaemonState;

/// The style of the page: one column on a telephone, and dark if the browser prefers that.
const STYLE: &str = include_str!("docs/style.css");

pub(super) fn routes(api: &mut Api) {
    let docs =
        Operation::get("/docs", Role::Viewer, "Shows this documentation.").public().at_root();
    api.add(
        docs.tag("documents").returns_media("text/html; charset=utf-8", "The page.").etagged(),
        docs_page,
    );
}

/// Returns the policy of the page: nothing is loaded, no script runs, and the hash allows the only
/// style.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// Returns the address that the reader of the page used, for commands to copy; the middleware has
/// checked that the host belongs to this daemon. Over the socket there is none.
fn address_of_request(daemon: &DaemonState, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let scheme = if daemon.settings().listen.tls.is_some() { "https" } else { "http" };
    Some(format!("{scheme}://{host}"))
}

/// Returns the page, which stays the same for the lifetime of the daemon except for the inserted
/// address.
fn page(daemon: &DaemonState) -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| page::render(&document(&operations(), &daemon.settings().version), STYLE))
}

async fn docs_page(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let address = address_of_request(&daemon, &headers);
    let page =
        page::with_address(page(&daemon), address.as_deref().unwrap_or(page::DEFAULT_ADDRESS));
    let tag = etag(&page);
    let policy = HeaderValue::from_str(&policy());
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let common = [
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""))),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    if etag_matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    (common, axum::response::Html(page)).into_response()
}
