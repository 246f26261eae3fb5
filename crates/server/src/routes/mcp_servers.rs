//! MCP servers that are switched on: how they stand. They are configured in `mcp.toml`, and looked
//! at without connecting to any.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_ops::mcp_servers::{self, ListMcpServersRequest, McpServerReply};

use crate::api::{Api, Operation, Page, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/mcp/servers", Role::Viewer, "Lists the MCP servers that are on.")
        .description("None is connected to for this. They are in `mcp.toml` of the configuration (docs/mcp.md).")
        .tag("mcp");
    api.add(list.returns_ok::<Page<McpServerReply>>("All of them.").etagged(), list_servers);
}

async fn list_servers(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let ctx = daemon.op_context(&principal, None);
    let rows = mcp_servers::list(&ctx, ListMcpServersRequest::default()).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}
