//! `toolcrib mcp add|rm|enable|disable`: the file of servers.

use std::io::Write as _;

use serde_json::json;
use toolcrib_app::mcp::client::{
    Http, Oauth, Remote, ServerConfig, ServerName, Stdio, servers_file,
};

use super::unknown_server;
use crate::bootstrap;
use crate::clap_args::McpAdd;
use crate::output::{self, Failure};

/// Changes the servers, and writes the file anew: whole, in its place, for this person alone.
pub(crate) fn update_servers<T>(
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

fn parse_name_values(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("`{text}` is no NAME=VALUE")))?;
        Ok((name.trim().to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}

pub(super) fn add(command: &McpAdd, json: bool) -> Result<u8, Failure> {
    let name = ServerName::new(&command.name).map_err(|error| Failure::usage(error.to_string()))?;
    let remote = match (&command.url, command.command.split_first()) {
        (Some(url), None) => Remote::Http(Http {
            url: url.clone(),
            headers: parse_name_values(&command.header)?,
            oauth: Oauth {
                client_id: command.client_id.clone(),
                client_secret: command.client_secret.clone(),
                scopes: command.scope.clone(),
                ..Oauth::default()
            },
        }),
        (None, Some((program, args))) => Remote::Stdio(Stdio {
            command: program.clone(),
            args: args.to_vec(),
            env: parse_name_values(&command.env)?,
            folder: None,
            network: command.network,
        }),
        _ => return Err(Failure::usage("give a program after `--`, or an address with --url")),
    };
    let config = ServerConfig {
        enabled: false,
        trusted: command.trusted,
        ..ServerConfig::new(name.clone(), remote)
    };
    let taken = update_servers(|servers| {
        let taken = servers.iter().any(|server| server.name == name);
        if !taken {
            servers.push(config);
        }
        taken
    })?;
    if taken {
        return Err(Failure::usage(format!(
            "there is a server {name} already; `toolcrib mcp rm {name}` removes it"
        )));
    }
    if json {
        output::print_json(&json!({"added": name}), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: {name} is added and off; `toolcrib mcp test {name}` tries it and switches it on"
        ));
    }
    Ok(0)
}

/// What was agreed to for this server is for no later one of the same name.
pub(crate) fn forget(name: &str) -> Result<(), Failure> {
    if let Some(secret) =
        ServerName::new(name).ok().as_ref().and_then(toolcrib_app::oauth_secret_name)
    {
        let removed = bootstrap::open_vault()?.remove(&secret);
        removed.map_err(|error| Failure::configuration(error.to_string()))?;
    }
    super::skills::forget_all(name)
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
    forget(name)?;
    if json {
        output::print_json(&json!({"removed": name}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is removed"));
    }
    Ok(0)
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
