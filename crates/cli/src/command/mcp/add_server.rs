//! `toolcrib mcp add`: an entry for a server, with what its program needs to start in the sandbox.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use serde_json::json;
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_app::mcp::client::{
    Http, LauncherKind, Oauth, Remote, ServerConfig, ServerName, Stdio, import_config,
};
use toolcrib_app::store::vault::{Secret, SecretName};

use super::launchers::{self, Registries};
use super::program_paths::{self, PersonPaths};
use super::{access, edit_servers};
use crate::clap_args::McpAdd;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// `NAME=VALUE`, or `NAME: VALUE` as a header is written.
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

/// Keeps secrets in the vault.
pub(super) fn keep_secrets(secrets: &[(String, String)]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let vault = bootstrap::open_vault()?;
    for (name, value) in secrets {
        let name: SecretName = name.parse().map_err(|error| failed(&error))?;
        let value = Secret::new(value.as_str()).map_err(|error| failed(&error))?;
        vault.set(&name, &value, SystemClock.now_ms()).map_err(|error| failed(&error))?;
        output::eprint_line(&format!(
            "toolcrib: a value went into the vault as {}, and is masked in results",
            name.as_str()
        ));
    }
    Ok(())
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

pub(super) fn run(command: &McpAdd, json: bool) -> Result<u8, Failure> {
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
    access::apply(&mut config, &command.access)?;
    if !agrees(&config, command.yes, json)? {
        output::eprint_line("toolcrib: nothing was added");
        return Ok(1);
    }
    // Secrets first: no server is written that names one which is not there.
    keep_secrets(&secrets)?;
    edit_servers::update_servers(|servers| servers.push(config))?;
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
            let mut stdio = Stdio {
                command: program.clone(),
                args: args.to_vec(),
                env,
                network: command.network,
                ..Stdio::default()
            };
            prepare_program(&mut stdio, &PersonPaths::from_env(), &Registries::from_env());
            Ok((Remote::Stdio(stdio), secrets))
        }
        _ => Err(Failure::usage("give a program after `--`, or an address with --url")),
    }
}

/// Puts into the entry what the program needs in the sandbox.
pub(super) fn prepare_program(stdio: &mut Stdio, person: &PersonPaths, registries: &Registries) {
    stdio.launcher = launchers::recognise(&stdio.command, &stdio.args, registries);
    for arg in &mut stdio.args {
        // The server is not started in the folder that this was typed in.
        let path = Path::new(arg.as_str());
        let is_file = path.is_relative() && arg.contains(['.', '/']) && path.exists();
        if is_file && let Ok(whole) = path.canonicalize() {
            *arg = whole.display().to_string();
        }
    }
    let program = person.find(&stdio.command);
    let mut read = program_paths::needed(program.as_deref(), &stdio.args, person);
    let of_program = program_paths::needed(program.as_deref(), &[], person);
    if let Some(launcher) = &stdio.launcher {
        let kind = launcher.kind;
        if kind == LauncherKind::Uvx
            && let Some(python) = person.find("python3")
        {
            read.extend(program_paths::needed(Some(&python), &[], person));
        }
        for (variable, value) in registries.certificates(kind) {
            if !stdio.env.iter().any(|(own, _)| *own == variable) {
                stdio.env.push((variable, value));
            }
        }
    }
    if let Some(program) = program.filter(|_| !of_program.is_empty()) {
        // It is found again without the person's own PATH.
        stdio.command = program.display().to_string();
    }
    for path in read {
        if !stdio.read.contains(&path) {
            stdio.read.push(path);
        }
    }
}

/// What the program gets, one line each.
pub(super) fn needs_text(config: &ServerConfig) -> Vec<String> {
    let Remote::Stdio(program) = &config.remote else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(launcher) = &program.launcher {
        let package = &launcher.package;
        lines.push(match launcher.kind {
            LauncherKind::Docker => format!(
                "runs the image {package} with docker: what the container may do is up to docker, not to our sandbox"
            ),
            _ => format!(
                "fetches the package {package} from {} once, then runs it without that network",
                launcher.registry
            ),
        });
    }
    let workspace = match program.workspace {
        toolcrib_app::mcp::client::WorkspaceAccess::None => "does not see the workspace",
        toolcrib_app::mcp::client::WorkspaceAccess::Read => "reads the workspace, after its review",
        toolcrib_app::mcp::client::WorkspaceAccess::Write => {
            "changes the workspace, after its review"
        }
    };
    lines.push(workspace.to_owned());
    lines.extend(program.read.iter().map(|path| format!("reads {}", path.display())));
    lines.extend(program.write.iter().map(|path| format!("changes {}", path.display())));
    lines.extend(program.allow_hosts.iter().map(|host| format!("reaches {host}")));
    if program.network {
        lines.push("has the network that programs may use".to_owned());
    } else if program.allow_hosts.is_empty() {
        lines.push("has no network".to_owned());
    }
    lines.into_iter().map(|line| terminal::escape_to_line(&line)).collect()
}

/// Shows what the program gets, and asks once if it is more than every program gets.
fn agrees(config: &ServerConfig, yes: bool, json: bool) -> Result<bool, Failure> {
    let Remote::Stdio(program) = &config.remote else { return Ok(true) };
    if json {
        return Ok(true);
    }
    output::eprint_line(&format!("toolcrib: in the sandbox {}", config.name));
    for line in needs_text(config) {
        output::eprint_line(&format!("  {line}"));
    }
    let is_more =
        program.launcher.is_some() || !program.read.is_empty() || !program.write.is_empty();
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
