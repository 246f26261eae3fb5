//! `toolcrib mcp list`.

use serde_json::{Value, json};
use toolcrib_ops::mcp_servers::{self, Authorization, ListMcpServersRequest, McpServerReply};

use crate::clap_args::WorkspaceArgs;
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal};

pub(super) async fn run(args: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let configured = bootstrap::mcp_servers()?;
    let toolcrib = bootstrap::build_with_stores(args).await?;
    let ctx = op_context::for_toolcrib(&toolcrib, None);
    let vault = bootstrap::open_vault().ok();
    let request = ListMcpServersRequest { configured: Some(configured), vault };
    let servers = mcp_servers::list(&ctx, request).await?;
    if json {
        let row = |server: &McpServerReply| {
            let own = json!({"place": server.endpoint, "authorization": server.authorization});
            json_document::with_members(server, own)
        };
        output::print_json(&Value::Array(servers.iter().map(row).collect()), true)?;
        return Ok(0);
    }
    if servers.is_empty() {
        output::eprint_line("toolcrib: there are no servers; `toolcrib mcp add` adds one");
        return Ok(0);
    }
    let mut text = format!("{:<20} {:<5} {:>5}  {}\n", "SERVER", "STATE", "TOOLS", "WHERE");
    for server in &servers {
        let state = if server.enabled { "on" } else { "off" };
        let place = terminal::escape_to_line(&server.endpoint);
        text += &format!("{:<20} {state:<5} {:>5}  {place}\n", server.name, server.tools);
    }
    output::print_line(&text)?;
    let is_needed = |server: &&McpServerReply| server.authorization == Some(Authorization::Needed);
    for McpServerReply { name, .. } in servers.iter().filter(is_needed) {
        output::eprint_line(&format!(
            "toolcrib: {name} needs authorization: run `toolcrib mcp auth {name}`"
        ));
    }
    Ok(0)
}
