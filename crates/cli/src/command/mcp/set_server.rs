//! `toolcrib mcp set|restart`: changes of the settings of an existing server.

use serde_json::json;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_ops::mcp_servers::{self, ChangeMcpServerRequest};

use super::find_server::{find_server, own_name};
use super::{access, add_server, edit_servers, show_server};
use crate::clap_args::McpSet;
use crate::output::{self, Failure};

pub(super) async fn run(command: &McpSet, json: bool) -> Result<u8, Failure> {
    let request = ChangeMcpServerRequest {
        name: own_name(&command.name)?.to_string(),
        enabled: None,
        trusted: command.trusted,
        legacy: command.legacy,
        network: command.network,
        access: access::from_args(&command.access)?,
        env: add_server::parse_pairs(&command.env)?,
        headers: add_server::parse_pairs(&command.header)?,
        remove: command.remove.clone(),
    };
    let changed = mcp_servers::change(&edit_servers::context()?, request).await?;
    edit_servers::print_kept_secrets(&changed.secrets);
    if json {
        output::print_json(&show_server::settings_json(&changed.config), true)?;
    } else {
        output::print_line(&show_server::settings_text(&changed.config))?;
    }
    Ok(0)
}

/// Ends the program of a server in a running daemon, by changing its entry and changing it back.
pub(super) fn restart(name: &str, fetch: bool, json: bool) -> Result<u8, Failure> {
    let config: ServerConfig = find_server(name)?;
    let name = config.name.as_str();
    if fetch {
        let Some(home) = crate::bootstrap::sandbox_home() else {
            return Err(Failure::configuration("there is no home folder for programs"));
        };
        toolcrib_app::mcp::fetch_again(&home, name)
            .map_err(|error| Failure::run(format!("{name} is not fetched again: {error}")))?;
    }
    edit_servers::update_servers(|servers| {
        for server in servers.iter_mut().filter(|server| server.name == config.name) {
            server.generation += 1;
        }
    })?;
    if json {
        output::print_json(&json!({"restarted": name, "fetched_again": fetch}), true)?;
    } else {
        let fetched = if fetch { ", and its package is fetched again" } else { "" };
        output::eprint_line(&format!(
            "toolcrib: the program of {name} ends; the next call starts it{fetched}"
        ));
    }
    Ok(0)
}
