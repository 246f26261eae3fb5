//! Lists MCP servers.

use toolcrib_app::mcp::client::{Remote, ServerConfig, StoredCredentials};
use toolcrib_app::oauth_secret_name;
use toolcrib_store::vault::Vault;

use super::server::{Authorization, McpServerReply};
use crate::context::OpContext;
use crate::error::OpError;

/// Request for the list of servers.
#[derive(Debug, Clone, Default)]
pub struct ListMcpServersRequest {
    /// The configured servers; `None` selects the enabled servers of this process.
    pub configured: Option<Vec<ServerConfig>>,
    /// The vault with the authorizations; `None` omits them.
    pub vault: Option<Vault>,
}

/// Lists servers, without connecting to them.
///
/// # Errors
/// [`OpError::Internal`] if the vault cannot be read in time.
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListMcpServersRequest,
) -> Result<Vec<McpServerReply>, OpError> {
    let client = ctx.toolcrib.mcp();
    let servers = request.configured.unwrap_or_else(|| {
        client.connections().iter().map(|connection| connection.config().clone()).collect()
    });
    let authorizations = authorizations(&servers, request.vault).await?;
    let mut replies = Vec::new();
    for (server, authorization) in servers.iter().zip(authorizations) {
        replies.push(McpServerReply { authorization, ..show(ctx, server).await });
    }
    Ok(replies)
}

/// Returns the state of a configured server, without connecting to it.
pub async fn show(ctx: &OpContext<'_>, server: &ServerConfig) -> McpServerReply {
    let name = server.name.as_str();
    let infos = ctx.toolcrib.infos();
    let tools = infos.iter().filter(|info| info.source == name).count();
    let reply = McpServerReply::new(server, tools);
    let connection = ctx.toolcrib.mcp().connection(name);
    match connection.filter(|_| server.enabled) {
        Some(connection) => reply.with_connection(ctx, &connection).await,
        None => reply,
    }
}

/// Returns the authorizations in the vault. A vault that cannot be read does not prevent the list.
async fn authorizations(
    servers: &[ServerConfig],
    vault: Option<Vault>,
) -> Result<Vec<Option<Authorization>>, OpError> {
    let Some(vault) = vault else { return Ok(vec![None; servers.len()]) };
    let secrets = tokio::task::spawn_blocking(move || vault.read().unwrap_or_default()).await;
    let secrets = secrets.map_err(|error| OpError::Internal(error.to_string()))?;
    let of = |server: &ServerConfig| {
        let Remote::Http(http) = &server.remote else { return None };
        let text = secrets.get(&oauth_secret_name(&server.name)?)?;
        let stored = StoredCredentials::parse(Some(text.expose()), &http.url);
        match (stored.is_needed(), stored.is_granted()) {
            (true, _) => Some(Authorization::Needed),
            (false, true) => Some(Authorization::Granted),
            (false, false) => None,
        }
    };
    Ok(servers.iter().map(of).collect())
}
