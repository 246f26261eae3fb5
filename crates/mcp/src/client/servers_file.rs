//! The server list `mcp.toml`: parsed completely or not at all, and written completely.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::oauth::Oauth;
use super::server_config::{
    Http, Launcher, Pin, Remote, ServerConfig, ServerName, Stdio, WorkspaceAccess,
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    servers: BTreeMap<ServerName, Row>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    network: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<WorkspaceAccess>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    write: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow_hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_mb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default)]
    enabled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    trusted: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    legacy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Pin>,
    #[serde(default, skip_serializing_if = "is_zero")]
    generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<ResultTrust>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trust_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_s: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth: Option<Oauth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launcher: Option<Launcher>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The trust of a server's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResultTrust {
    External,
    Workspace,
}

impl Row {
    /// Returns whether it has settings that only apply to programs.
    fn is_confined(&self) -> bool {
        self.workspace.is_some()
            || self.memory_mb.is_some()
            || self.launcher.is_some()
            || [&self.read, &self.write].iter().any(|paths| !paths.is_empty())
            || !self.allow_hosts.is_empty()
            || self.network
    }
}

/// Parses the servers.
///
/// # Errors
/// The problem, as a sentence fragment.
pub fn parse(text: &str) -> Result<Vec<ServerConfig>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    file.servers.into_iter().map(|(name, row)| server(name, row)).collect()
}

fn server(name: ServerName, row: Row) -> Result<ServerConfig, String> {
    let is_confined = row.is_confined();
    let remote = match (row.command, row.url) {
        (Some(command), None) if row.headers.is_empty() && row.oauth.is_none() => {
            Remote::Stdio(Stdio {
                command,
                args: row.args,
                env: row.env.into_iter().collect(),
                folder: row.folder,
                network: row.network,
                workspace: row.workspace.unwrap_or_default(),
                read: row.read,
                write: row.write,
                allow_hosts: row.allow_hosts,
                memory_mb: row.memory_mb,
                launcher: row.launcher,
            })
        }
        (None, Some(_)) if is_confined => {
            return Err(format!(
                "the server {name} is an address and has no settings of a program (workspace, read, write, allow_hosts, memory_mb, network)"
            ));
        }
        (None, Some(url)) if row.env.is_empty() && row.args.is_empty() => Remote::Http(Http {
            url,
            headers: row.headers.into_iter().collect(),
            oauth: row.oauth.unwrap_or_default(),
        }),
        (Some(_), Some(_)) | (None, None) => {
            return Err(format!("the server {name} needs a command or a url, and not both"));
        }
        (Some(_), None) => {
            return Err(format!("the server {name} is a program and has no headers or oauth"));
        }
        (None, Some(_)) => {
            return Err(format!("the server {name} is an address and has no args or env"));
        }
    };
    let mut config = ServerConfig::new(name, remote);
    (config.enabled, config.trusted, config.legacy) = (row.enabled, row.trusted, row.legacy);
    config.pin = row.pin.unwrap_or_default();
    config.generation = row.generation;
    config.workspace_results = row.trust == Some(ResultTrust::Workspace);
    config.workspace_tools = row.trust_tools;
    if let Some(seconds) = row.timeout_s {
        config.timeout = Duration::from_secs(seconds);
    }
    if let Some(seconds) = row.idle_s {
        config.idle = Duration::from_secs(seconds);
    }
    Ok(config)
}

/// Renders the servers.
#[must_use]
pub fn render(servers: &[ServerConfig]) -> String {
    let rows = servers.iter().map(|config| (config.name.clone(), row(config)));
    let file = File { servers: rows.collect() };
    // Plain data, so serialization cannot fail.
    toml::to_string(&file).unwrap_or_default()
}

fn row(config: &ServerConfig) -> Row {
    let usual = ServerConfig::new(config.name.clone(), config.remote.clone());
    let unusual = |time: Duration, usual: Duration| (time != usual).then_some(time.as_secs());
    let mut row = Row {
        enabled: config.enabled,
        trusted: config.trusted,
        legacy: config.legacy,
        pin: Some(config.pin).filter(|pin| *pin != Pin::default()),
        generation: config.generation,
        trust: config.workspace_results.then_some(ResultTrust::Workspace),
        trust_tools: config.workspace_tools.clone(),
        timeout_s: unusual(config.timeout, usual.timeout),
        idle_s: unusual(config.idle, usual.idle),
        ..Row::default()
    };
    match &config.remote {
        Remote::Stdio(program) => {
            row.command = Some(program.command.clone());
            row.args.clone_from(&program.args);
            row.env = program.env.iter().cloned().collect();
            row.folder.clone_from(&program.folder);
            row.network = program.network;
            let usual = WorkspaceAccess::default();
            row.workspace = Some(program.workspace).filter(|access| *access != usual);
            row.read.clone_from(&program.read);
            row.write.clone_from(&program.write);
            row.allow_hosts.clone_from(&program.allow_hosts);
            row.memory_mb = program.memory_mb;
            row.launcher.clone_from(&program.launcher);
        }
        Remote::Http(http) => {
            row.url = Some(http.url.clone());
            row.headers = http.headers.iter().cloned().collect();
            row.oauth = Some(&http.oauth).filter(|oauth| **oauth != Oauth::default()).cloned();
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[servers.files]
command = "server-files"
args = ["--root", "."]
env = { TOKEN = "secret:files" }
enabled = true
timeout_s = 5
workspace = "write"
read = ["/opt/data"]
allow_hosts = ["a.example"]
memory_mb = 512
pin = "program"
trust_tools = ["list"]

[servers.files.launcher]
kind = "npx"
package = "server-files"
registry = "https://registry.example/"

[servers.web]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer ${secret:web}" }

[servers.work]
url = "https://example.org/mcp"
oauth = { client_id = "c", client_secret = "secret:work", scopes = ["a"], grant = "client_credentials" }
"#;

    #[test]
    fn what_is_written_is_read_again() {
        let servers = parse(TEXT).unwrap();
        assert_eq!(servers.len(), 3);
        assert!(servers[0].enabled && !servers[1].enabled, "off unless it says otherwise");
        assert_eq!(servers[0].timeout, Duration::from_secs(5));
        assert_eq!(parse(&render(&servers)).unwrap(), servers);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_server_is_an_error() {
        for (text, part) in [
            ("[servers.a]\n", "a command or a url"),
            ("[servers.a]\ncommand='x'\nurl='y'", "a command or a url"),
            ("[servers.A]\ncommand='x'", "is not a server name"),
            ("[servers.a]\ncommand='x'\nheaders={A='b'}", "no headers"),
            ("[servers.a]\ncommand='x'\noauth={}", "no headers or oauth"),
            ("[servers.a]\nurl='x'\noauth={client='b'}", "client"),
            ("[servers.a]\nurl='x'\nargs=['b']", "no args or env"),
            ("[servers.a]\nurl='x'\nworkspace='read'", "no settings of a program"),
            ("[servers.a]\ncommand='x'\nworkspace='all'", "workspace"),
            ("[servers.a]\ncommand='x'\nenabld=true", "enabld"),
            ("[server.a]\n", "server"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
