//! The OpenAPI document of this API.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::operations;
use crate::api::{Api, Operation, document, etag_response};
use crate::role::Role;
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let openapi = Operation::get("/openapi.json", Role::Viewer, "The OpenAPI 3.1 document.");
    let openapi = openapi.public().at_root().tag("documents");
    api.add(openapi.returns_media("application/json", "The document.").etagged(), openapi_json);
}

async fn openapi_json(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    etag_response(&headers, &document(&operations(), &daemon.settings().version))
}
