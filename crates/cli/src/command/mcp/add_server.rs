//! `toolcrib mcp add`: adds an entry for a server, with the access that its program needs to start
//! in the sandbox.

use std::io::{self, IsTerminal as _};

use serde_json::json;
use toolcrib_app::mcp::client::{
    Http, Oauth, Remote, ServerConfig, ServerName, Stdio, WorkspaceAccess, import_config,
};
use toolcrib_ops::mcp_servers::{self, AddMcpServersRequest};

use super::prepare_program::{self, needs_text};
use super::{access, edit_servers};
use crate::bootstrap;
use crate::clap_args::McpAdd;
use crate::output::{self, Failure};

/// Parses `NAME=VALUE`, or `NAME: VALUE` as in a header.
pub(super) fn parse_pairs(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let colon = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1));
        let at = match (colon, text.find('=')) {
            (Some(colon), Some(equals)) => Some(colon.min(equals)),
            (colon, equals) => colon.or(equals),
        };
        let parts = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
        let (name, value) = parts.filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
            Failure::usage(format!("`{text}` is neither NAME=VALUE nor `NAME: VALUE`"))
        })?;
        let value = if colon == at { value.trim() } else { value };
        Ok((name.trim().to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}

/// The name as it is kept: capital letters are small ones there.
fn server_name(given: &str) -> Result<ServerName, Failure> {
    let name = ServerName::new(&given.to_ascii_lowercase());
    let name = name.map_err(|error| Failure::usage(error.to_string()))?;
    if name.as_str() != given {
        output::eprint_line(&format!("toolcrib: the server is called {name}"));
    }
    Ok(name)
}

pub(super) async fn run(command: &McpAdd, json: bool) -> Result<u8, Failure> {
    let name = server_name(&command.name)?;
    if bootstrap::mcp_servers()?.iter().any(|server| server.name == name) {
        return Err(Failure::usage(format!(
            "there is a server {name} already; `toolcrib mcp set {name}` changes it, `toolcrib mcp rm {name}` removes it"
        )));
    }
    let (remote, secrets) = remote(command, &name)?;
    let mut config = ServerConfig {
        enabled: false,
        trusted: command.trusted,
        ..ServerConfig::new(name.clone(), remote)
    };
    prepare_program::prepare_launcher(&mut config, None);
    access::from_args(&command.access)?.apply(&mut config)?;
    if command.access.workspace_access.is_none() {
        prepare_program::prepare_databases(&mut config, None);
    }
    if !agrees(&config, command.yes, json)? {
        output::eprint_line("toolcrib: nothing was added");
        return Ok(1);
    }
    let kept: Vec<String> = secrets.iter().map(|(name, _)| name.clone()).collect();
    let request = AddMcpServersRequest { servers: vec![config], secrets };
    mcp_servers::add(&edit_servers::context()?, request).await?;
    edit_servers::print_kept_secrets(&kept);
    if json {
        output::print_json(&json!({"added": name}), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: {name} is added and off; `toolcrib mcp test {name}` tries it, shows its tools and switches it on"
        ));
    }
    Ok(0)
}

type Secrets = Vec<(String, String)>;

fn remote(command: &McpAdd, name: &ServerName) -> Result<(Remote, Secrets), Failure> {
    match (&command.url, command.command.split_first()) {
        (Some(url), None) => {
            let mut headers = parse_pairs(&command.header)?;
            let secrets = import_config::take_secrets(name, &mut headers);
            let oauth = Oauth {
                client_id: command.client_id.clone(),
                client_secret: command.client_secret.clone(),
                scopes: command.scope.clone(),
                ..Oauth::default()
            };
            Ok((Remote::Http(Http { url: url.clone(), headers, oauth }), secrets))
        }
        (None, Some((program, args))) => {
            let mut env = parse_pairs(&command.env)?;
            let secrets = import_config::take_secrets(name, &mut env);
            let stdio = Stdio {
                command: program.clone(),
                args: args.to_vec(),
                env,
                network: command.network,
                ..Stdio::default()
            };
            Ok((Remote::Stdio(stdio), secrets))
        }
        _ => Err(Failure::usage("give a program after `--`, or an address with --url")),
    }
}

/// Shows the access of the program, and asks once if it exceeds the access of every program.
fn agrees(config: &ServerConfig, yes: bool, json: bool) -> Result<bool, Failure> {
    let Remote::Stdio(program) = &config.remote else { return Ok(true) };
    if json {
        return Ok(true);
    }
    output::eprint_line(&format!("toolcrib: in the sandbox {}", config.name));
    for line in needs_text(config) {
        output::eprint_line(&format!("  {line}"));
    }
    let is_more = program.launcher.is_some()
        || program.workspace == WorkspaceAccess::Write
        || !program.read.is_empty()
        || !program.write.is_empty();
    if yes || !is_more || !io::stdin().is_terminal() {
        return Ok(true);
    }
    output::eprint_prompt("toolcrib: add it? [Y/n] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_both_ways() {
        let check = |text: &str, expected: (&str, &str)| {
            let found = parse_pairs(&[text.to_owned()]).unwrap();
            assert_eq!((found[0].0.as_str(), found[0].1.as_str()), expected, "{text}");
        };
        check("Authorization: Bearer a=b", ("Authorization", "Bearer a=b"));
        check("Authorization=Bearer x: y", ("Authorization", "Bearer x: y"));
        check("URL=http://a:1/x", ("URL", "http://a:1/x"));
        check("X-Team:", ("X-Team", ""));
        for bad in ["nothing", "=x", ": x"] {
            assert!(parse_pairs(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
