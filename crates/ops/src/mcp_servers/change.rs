//! Changes an MCP server of the file.

use toolcrib_app::mcp::client::{Remote, ServerConfig, import_config};

use super::access::{self, McpServerAccess};
use super::context::McpServersContext;
use super::file::missing;
use crate::error::OpError;

/// Changes of a server; absent values stay as they are.
#[derive(Debug, Clone, Default)]
pub struct ChangeMcpServerRequest {
    /// Its name.
    pub name: String,
    /// Whether its tools are offered.
    pub enabled: Option<bool>,
    /// Whether its statement that a tool only reads is trusted.
    pub trusted: Option<bool>,
    /// Whether only protocol revisions before 2026-07-28 are spoken.
    pub legacy: Option<bool>,
    /// Whether its program gets the network that the owner allows for programs.
    pub network: Option<bool>,
    /// What it may reach.
    pub access: McpServerAccess,
    /// Variables of its program; an empty value removes one. A value that looks like a secret goes
    /// into the vault.
    pub env: Vec<(String, String)>,
    /// Headers of its requests, likewise.
    pub headers: Vec<(String, String)>,
    /// Paths, hosts and tools that leave the lists.
    pub remove: Vec<String>,
}

/// A server was changed.
#[derive(Debug, Clone)]
pub struct ChangedMcpServer {
    /// Its entry now.
    pub config: ServerConfig,
    /// Names of secrets that were stored.
    pub secrets: Vec<String>,
}

/// Changes a server in the file, and puts the change in force.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Invalid`] for a change that the server cannot have;
/// [`OpError::Unusable`] for a file that cannot be read, [`OpError::Internal`] for one that cannot
/// be written; [`OpError::Vault`], [`OpError::Unrecorded`].
pub async fn change(
    ctx: &McpServersContext<'_>,
    request: ChangeMcpServerRequest,
) -> Result<ChangedMcpServer, OpError> {
    let name = request.name.clone();
    let found = ctx.file.read()?.into_iter().find(|server| server.name.as_str() == name);
    let mut config = found.ok_or_else(|| missing(&name))?;
    let pairs = apply(&mut config, request)?;
    let secrets = pairs.iter().map(|(name, _)| name.clone()).collect();
    ctx.keep_secrets(pairs).await?;
    let changed = config.clone();
    ctx.file.update(|servers| {
        for own in servers.iter_mut().filter(|server| server.name == config.name) {
            *own = config.clone();
        }
    })?;
    ctx.put_in_force("mcp.change", &[name]).await?;
    Ok(ChangedMcpServer { config: changed, secrets })
}

/// Puts the changes into an entry. Returns the secrets, by the names that the entry refers to.
fn apply(
    config: &mut ServerConfig,
    request: ChangeMcpServerRequest,
) -> Result<Vec<(String, String)>, OpError> {
    let name = config.name.clone();
    request.access.apply(config)?;
    if let Some(entry) = request.remove.iter().find(|entry| !access::remove(config, entry)) {
        return Err(OpError::Invalid(format!("{entry} is in no list of {name}")));
    }
    config.enabled = request.enabled.unwrap_or(config.enabled);
    config.trusted = request.trusted.unwrap_or(config.trusted);
    config.legacy = request.legacy.unwrap_or(config.legacy);
    let (mut env, mut headers) = (request.env, request.headers);
    let mut secrets = import_config::take_secrets(&name, &mut env);
    secrets.extend(import_config::take_secrets(&name, &mut headers));
    match &mut config.remote {
        Remote::Stdio(program) if headers.is_empty() => {
            program.network = request.network.unwrap_or(program.network);
            merge(&mut program.env, env);
        }
        Remote::Http(http) if env.is_empty() && request.network.is_none() => {
            merge(&mut http.headers, headers);
        }
        Remote::Stdio(_) => {
            return Err(OpError::Invalid(format!("{name} is a program and has no headers")));
        }
        Remote::Http(_) => {
            return Err(OpError::Invalid(format!(
                "{name} is an address: it has the network, and variables are for programs"
            )));
        }
    }
    Ok(secrets)
}

/// Adds and replaces pairs; an empty value removes one.
fn merge(all: &mut Vec<(String, String)>, new: Vec<(String, String)>) {
    for (name, value) in new {
        all.retain(|(own, _)| *own != name);
        if !value.is_empty() {
            all.push((name, value));
        }
    }
}
