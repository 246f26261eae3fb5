//! `toolcrib mcp rm|enable|disable`: changes of the file of servers.

use std::sync::Arc;

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_ops::mcp_servers::{
    self, McpServersFile, RemoveMcpServerRequest, RemovedMcpServer, SetMcpServerEnabledRequest,
};

use crate::bootstrap;
use crate::output::{self, Failure};

/// Returns the file of servers.
pub(super) fn file() -> Result<McpServersFile, Failure> {
    bootstrap::mcp_file().ok_or_else(|| {
        Failure::configuration("there is no configuration folder; set TOOLCRIB_HOME to a folder")
    })
}

/// Changes the servers, and rewrites the file.
pub(crate) fn update_servers<T>(
    act: impl FnOnce(&mut Vec<ServerConfig>) -> T,
) -> Result<T, Failure> {
    Ok(file()?.update(act)?)
}

/// Removes a server with its data.
pub(crate) async fn remove_server(
    name: &str,
    stores: &Stores,
) -> Result<RemovedMcpServer, Failure> {
    let request = RemoveMcpServerRequest {
        name: name.to_owned(),
        vault: bootstrap::open_vault()?,
        skills: super::skills::server_skills_folder(name)?,
    };
    Ok(mcp_servers::remove(&file()?, Arc::clone(&stores.facts), request).await?)
}

pub(super) fn remove(name: &str, json: bool) -> Result<u8, Failure> {
    let removed = bootstrap::block_on(async { remove_server(name, &bootstrap::stores()?).await })?;
    if json {
        output::print_json(&json!(removed), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is removed"));
        for secret in removed.secrets {
            output::eprint_line(&format!("toolcrib: the secret {secret} of it is removed too"));
        }
    }
    Ok(0)
}

pub(super) fn set_enabled(name: &str, on: bool, json: bool) -> Result<u8, Failure> {
    let request = SetMcpServerEnabledRequest { name: name.to_owned(), enabled: on };
    mcp_servers::set_enabled(&file()?, request)?;
    if json {
        output::print_json(&json!({"name": name, "enabled": on}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is {}", if on { "on" } else { "off" }));
    }
    Ok(0)
}
