//! `toolcrib mcp rm|enable|disable`: the file of servers.

use std::io::Write as _;

use serde_json::json;
use toolcrib_app::mcp::client::{ServerConfig, ServerName, import_config, servers_file};

use super::unknown_server;
use crate::bootstrap;
use crate::output::{self, Failure};

/// Changes the servers, and writes the file anew: whole, in its place, for this person alone.
pub(super) fn update_servers<T>(
    act: impl FnOnce(&mut Vec<ServerConfig>) -> T,
) -> Result<T, Failure> {
    let mut servers = bootstrap::mcp_servers()?;
    let result = act(&mut servers);
    let path = bootstrap::mcp_file().ok_or_else(|| {
        Failure::configuration("there is no configuration folder; set TOOLCRIB_HOME to a folder")
    })?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::run(format!("{} cannot be written: {error}", path.display()))
    };
    let folder = path.parent().unwrap_or(&path);
    std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    // A temporary file is for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let text = servers_file::render(&servers);
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    file.persist(&path).map_err(|error| failed(&error))?;
    Ok(result)
}

pub(super) fn remove(name: &str, json: bool) -> Result<u8, Failure> {
    let before = bootstrap::mcp_servers()?.len();
    let after = update_servers(|servers| {
        servers.retain(|server| server.name.as_str() != name);
        servers.len()
    })?;
    if after == before {
        return Err(unknown_server(name));
    }
    // What was agreed to for this server is for no later one of the same name.
    let secrets = remove_secrets(name)?;
    super::skills::forget_all(name)?;
    bootstrap::block_on(forget_reviews(name))?;
    if json {
        output::print_json(&json!({"removed": name, "secrets": secrets}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is removed"));
        for secret in secrets {
            output::eprint_line(&format!("toolcrib: the secret {secret} of it is removed too"));
        }
    }
    Ok(0)
}

/// Removes its authorization, and the secrets that were taken from its configuration and that no
/// other server uses. Returns the names of the latter.
fn remove_secrets(name: &str) -> Result<Vec<String>, Failure> {
    let Ok(server) = ServerName::new(name) else { return Ok(Vec::new()) };
    let vault = bootstrap::open_vault()?;
    let failed = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let others = servers_file::render(&bootstrap::mcp_servers()?);
    let mut removed = Vec::new();
    let names: Vec<_> = vault.read().map_err(|error| failed(&error))?.into_keys().collect();
    for secret in names {
        let own = import_config::is_secret_of(&server, secret.as_str());
        if own && !others.contains(&format!("secret:{}", secret.as_str())) {
            vault.remove(&secret).map_err(|error| failed(&error))?;
            removed.push(secret.as_str().to_owned());
        }
    }
    if let Some(secret) = toolcrib_app::oauth_secret_name(&server) {
        vault.remove(&secret).map_err(|error| failed(&error))?;
    }
    Ok(removed)
}

async fn forget_reviews(name: &str) -> Result<(), Failure> {
    let stores = bootstrap::stores()?;
    let forgotten = toolcrib_app::mcp::forget_reviews(&*stores.facts, name).await;
    forgotten.map_err(|error| Failure::run(error.to_string()))
}

pub(super) fn set_enabled(name: &str, on: bool, json: bool) -> Result<u8, Failure> {
    super::find_server(name)?;
    update_servers(|servers| {
        for server in servers.iter_mut().filter(|server| server.name.as_str() == name) {
            server.enabled = on;
        }
    })?;
    if json {
        output::print_json(&json!({"name": name, "enabled": on}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is {}", if on { "on" } else { "off" }));
    }
    Ok(0)
}
