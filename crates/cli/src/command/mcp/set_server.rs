//! `toolcrib mcp set|restart`: changes of the settings of an existing server.

use serde_json::json;
use toolcrib_app::mcp::client::{Remote, ServerConfig, import_config};

use super::find_server::find_server;
use super::{access, add_server, edit_servers, show_server};
use crate::clap_args::McpSet;
use crate::output::{self, Failure};

pub(super) fn run(command: &McpSet, json: bool) -> Result<u8, Failure> {
    let mut config = find_server(&command.name)?;
    let name = config.name.clone();
    access::apply(&mut config, &command.access)?;
    for entry in &command.remove {
        if !access::remove(&mut config, entry) {
            return Err(Failure::usage(format!(
                "{entry} is in no list of {name}; `toolcrib mcp show {name}` shows them"
            )));
        }
    }
    config.trusted = command.trusted.unwrap_or(config.trusted);
    config.legacy = command.legacy.unwrap_or(config.legacy);
    let mut env = add_server::parse_pairs(&command.env)?;
    let mut headers = add_server::parse_pairs(&command.header)?;
    let mut secrets = import_config::take_secrets(&name, &mut env);
    secrets.extend(import_config::take_secrets(&name, &mut headers));
    match &mut config.remote {
        Remote::Stdio(program) if headers.is_empty() => {
            program.network = command.network.unwrap_or(program.network);
            merge(&mut program.env, env);
        }
        Remote::Http(http) if env.is_empty() && command.network.is_none() => {
            merge(&mut http.headers, headers);
        }
        Remote::Stdio(_) => {
            return Err(Failure::usage(format!("{name} is a program and has no headers")));
        }
        Remote::Http(_) => {
            let words = format!("{name} is an address; --env and --network are for programs");
            return Err(Failure::usage(words));
        }
    }
    add_server::keep_secrets(&secrets)?;
    let shown = config.clone();
    edit_servers::update_servers(move |servers| {
        if let Some(own) = servers.iter_mut().find(|server| server.name == config.name) {
            *own = config;
        }
    })?;
    if json {
        output::print_json(&show_server::settings_json(&shown), true)?;
    } else {
        output::print_line(&show_server::settings_text(&shown))?;
    }
    Ok(0)
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

/// Restarts the program of a server in a running daemon, by changing its entry and changing it
/// back.
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
