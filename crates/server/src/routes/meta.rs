//! The interface about itself: the OpenAPI document.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::operations;
use crate::api::{Api, Operation, document, etagged};
use crate::daemon::Daemon;
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let openapi = Operation::get("/openapi.json", Role::Viewer, "The OpenAPI 3.1 document.");
    let openapi = openapi.open().at_root().tag("documents");
    api.add(openapi.gives("application/json", "The document.").etagged(), openapi_json);
}

async fn openapi_json(State(daemon): State<Daemon>, headers: HeaderMap) -> Response {
    etagged(&headers, &document(&operations(), &daemon.settings().version))
}
