//! The list of MCP servers, and the routes of all.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::api::{Api, Operation, Page, etag_response};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

use super::{details, edit, import, row};

pub(in crate::routes) fn routes(api: &mut Api) {
    let list = Operation::get("/mcp/servers", Role::Viewer, "Lists the MCP servers.")
        .description("None is connected to for this. They are in `mcp.toml` of the configuration (docs/mcp.md).")
        .tag("mcp");
    api.add(
        list.returns_ok::<Page<row::McpServerRow>>("All of them, those that are off too.")
            .etagged(),
        list_servers,
    );
    details::routes(api);
    edit::routes(api);
    import::routes(api);
}

async fn list_servers(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut rows = Vec::new();
    for config in details::configured(&daemon)? {
        rows.push(row::row(&daemon, &config).await);
    }
    Ok(etag_response(&headers, &Page::single_page(rows)))
}
