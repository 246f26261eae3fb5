//! Removes an MCP server.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use toolcrib_app::mcp::client::{ServerConfig, ServerName, import_config, servers_file};
use toolcrib_app::{mcp, oauth_secret_name};
use toolcrib_core::KeyValueStore;
use toolcrib_store::vault::Vault;

use super::context::McpServersContext;
use super::file::missing;
use crate::error::OpError;

/// The server to remove, and the location of its data.
#[derive(Debug, Clone)]
pub struct RemoveMcpServerRequest {
    /// Its name.
    pub name: String,
    /// The folder of its skills.
    pub skills: PathBuf,
}

/// The removed server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedMcpServer {
    /// Its name.
    pub removed: String,
    /// Names of secrets that were created from its configuration and are removed with it.
    pub secrets: Vec<String>,
}

/// Removes a server from the file, with its authorization, secrets, skills and reviews (in
/// `facts`): the consent of a person to this server must not apply to a later one of the same name.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Unusable`] for a file that cannot be read, [`OpError::Vault`],
/// [`OpError::Store`], [`OpError::Internal`], [`OpError::Unrecorded`].
pub async fn remove(
    ctx: &McpServersContext<'_>,
    facts: Arc<dyn KeyValueStore>,
    request: RemoveMcpServerRequest,
) -> Result<RemovedMcpServer, OpError> {
    let RemoveMcpServerRequest { name, skills } = request;
    let vault = ctx.vault.clone()?;
    let (removed, others) = ctx.file.update(|servers| {
        let before = servers.len();
        servers.retain(|server| server.name.as_str() != name);
        (servers.len() < before, servers.clone())
    })?;
    if !removed {
        return Err(missing(&name));
    }
    let secrets = match ServerName::new(&name) {
        Ok(server) => remove_secrets(&server, &vault, &others)?,
        Err(_) => Vec::new(),
    };
    match fs::remove_dir_all(&skills) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let path = skills.display();
            return Err(OpError::Internal(format!("{path} cannot be removed: {error}")));
        }
        _ => {}
    }
    mcp::forget_reviews(&*facts, &name).await?;
    ctx.put_in_force("mcp.remove", std::slice::from_ref(&name)).await?;
    Ok(RemovedMcpServer { removed: name, secrets })
}

/// Removes the authorization of a server, and the secrets that were created from its configuration
/// and that no other server uses. Returns the names of these secrets.
fn remove_secrets(
    server: &ServerName,
    vault: &Vault,
    others: &[ServerConfig],
) -> Result<Vec<String>, OpError> {
    let others = servers_file::render(others);
    let mut removed = Vec::new();
    for secret in vault.read()?.into_keys() {
        let is_own = import_config::is_secret_of(server, secret.as_str());
        if is_own && !others.contains(&format!("secret:{}", secret.as_str())) {
            vault.remove(&secret)?;
            removed.push(secret.as_str().to_owned());
        }
    }
    if let Some(secret) = oauth_secret_name(server) {
        vault.remove(&secret)?;
    }
    Ok(removed)
}
