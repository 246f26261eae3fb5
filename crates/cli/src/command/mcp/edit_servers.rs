//! `toolcrib mcp rm|enable|disable`: changes of the file of servers.

use std::sync::Arc;

use serde_json::json;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::mcp_servers::{
    self, ChangeMcpServerRequest, McpServersContext, McpServersFile, RemoveMcpServerRequest,
};

use crate::bootstrap;
use crate::output::{self, Failure};

/// The file of servers.
fn file() -> Result<McpServersFile, Failure> {
    bootstrap::mcp_file().ok_or_else(|| {
        Failure::configuration("there is no configuration folder; set TOOLCRIB_HOME to a folder")
    })
}

/// The context of changes. This process ends at once: nothing has to be masked or put in force.
pub(super) fn context() -> Result<McpServersContext<'static>, Failure> {
    Ok(McpServersContext {
        file: file()?,
        vault: bootstrap::open_vault().map_err(Into::into),
        masked: None,
        recorder: Recorder::None,
        configuration: None,
    })
}

/// Changes the servers, and writes the file anew.
pub(super) fn update_servers<T>(
    act: impl FnOnce(&mut Vec<ServerConfig>) -> T,
) -> Result<T, Failure> {
    Ok(file()?.update(act)?)
}

/// Says which values went into the vault.
pub(super) fn print_kept_secrets<'a>(names: impl IntoIterator<Item = &'a String>) {
    for name in names {
        output::eprint_line(&format!(
            "toolcrib: a value went into the vault as {name}, and is masked in results"
        ));
    }
}

pub(super) async fn remove(name: &str, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let skills = super::skills::server_skills_folder(name)?;
    let request = RemoveMcpServerRequest { name: name.to_owned(), skills };
    let removed = mcp_servers::remove(&context()?, Arc::clone(&stores.facts), request).await?;
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

pub(super) async fn set_enabled(name: &str, on: bool, json: bool) -> Result<u8, Failure> {
    let name = name.to_owned();
    let request = ChangeMcpServerRequest { name, enabled: Some(on), ..Default::default() };
    let config = mcp_servers::change(&context()?, request).await?.config;
    let (name, on) = (config.name, config.enabled);
    if json {
        output::print_json(&json!({"name": name, "enabled": on}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is {}", if on { "on" } else { "off" }));
    }
    Ok(0)
}
