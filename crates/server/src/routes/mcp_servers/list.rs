//! The list of MCP servers.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_ops::mcp_servers::{self, ListMcpServersRequest, McpServerReply};

use super::{details, edit, import, login};
use crate::api::{Api, Operation, Page, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(in crate::routes) fn routes(api: &mut Api) {
    let list = Operation::get("/mcp/servers", Role::Viewer, "Lists the MCP servers.")
        .description("The daemon connects to none of them for this. They are in `mcp.toml` of the configuration (docs/mcp.md).")
        .tag("mcp");
    api.add(
        list.returns_ok::<Page<McpServerReply>>("All servers, disabled ones too.").etagged(),
        list_servers,
    );
    details::routes(api);
    edit::routes(api);
    import::routes(api);
    login::routes(api);
}

async fn list_servers(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let configured = Some(details::configured(&daemon)?);
    let request = ListMcpServersRequest { configured, vault: None };
    let rows = mcp_servers::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}
