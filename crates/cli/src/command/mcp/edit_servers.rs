//! `toolcrib mcp add|rm|enable|disable`: the file of servers.

use serde_json::json;
use toolcrib_app::mcp::client::{Http, Oauth, Remote, ServerConfig, ServerName, Stdio};
use toolcrib_ops::OpError;
use toolcrib_ops::mcp_servers::{
    self, AddMcpServersRequest, McpServersFile, RemoveMcpServerRequest, SetMcpServerEnabledRequest,
};

use crate::bootstrap;
use crate::clap_args::McpAdd;
use crate::output::{self, Failure};

/// The file of servers.
pub(super) fn file() -> Result<McpServersFile, Failure> {
    bootstrap::mcp_file().ok_or_else(|| {
        Failure::configuration("there is no configuration folder; set TOOLCRIB_HOME to a folder")
    })
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
    let request = AddMcpServersRequest { servers: vec![config] };
    mcp_servers::add(&file()?, request).map_err(|error| match error {
        OpError::Conflict(taken) => {
            Failure::usage(format!("{taken}; `toolcrib mcp rm {name}` removes it"))
        }
        error => error.into(),
    })?;
    if json {
        output::print_json(&json!({"added": name}), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: {name} is added and off; `toolcrib mcp test {name}` tries it and switches it on"
        ));
    }
    Ok(0)
}

pub(super) fn remove(name: &str, json: bool) -> Result<u8, Failure> {
    let request = RemoveMcpServerRequest {
        name: name.to_owned(),
        vault: bootstrap::open_vault()?,
        skills: super::skills::server_skills_folder(name)?,
    };
    mcp_servers::remove(&file()?, request)?;
    if json {
        output::print_json(&json!({"removed": name}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is removed"));
    }
    Ok(0)
}

pub(super) fn set_enabled(name: &str, on: bool, json: bool) -> Result<u8, Failure> {
    enable(name, on)?;
    if json {
        output::print_json(&json!({"name": name, "enabled": on}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {name} is {}", if on { "on" } else { "off" }));
    }
    Ok(0)
}

/// Switches a server on or off in the file.
pub(super) fn enable(name: &str, enabled: bool) -> Result<(), Failure> {
    let request = SetMcpServerEnabledRequest { name: name.to_owned(), enabled };
    mcp_servers::set_enabled(&file()?, request)?;
    Ok(())
}
