//! `toolcrib mcp search`: the registry of MCP servers. Its answers are kept for an hour. Nothing is
//! added from it: it shows the command that adds a server, which is off until it was reviewed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolcrib_app::core::canonical_json;
use toolcrib_app::net::{AddressPolicy, HttpClient, Limits, Request};

use crate::clap_args::McpSearch;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// How long an answer is kept.
const FRESH: Duration = Duration::from_secs(3600);
/// Most servers of one answer.
const MOST: usize = 30;
/// Most bytes of an answer.
const BYTES: usize = 4 << 20;

/// A server of the registry.
struct Found {
    name: String,
    description: String,
    version: String,
    /// The words after `toolcrib mcp add NAME`.
    add: Vec<String>,
}

pub(super) async fn run(command: &McpSearch, json: bool) -> Result<u8, Failure> {
    let url = address(&command.registry, &command.words)?;
    let answer = match cached(&url) {
        Some(answer) => answer,
        None => fetch(&url).await?,
    };
    let rows = answer.get("servers").and_then(Value::as_array).ok_or_else(|| {
        Failure::run(format!("{} does not answer like a registry of MCP servers", command.registry))
    })?;
    let mut found: Vec<Found> = Vec::new();
    for one in rows.iter().filter_map(server) {
        // The newest version of each stands last or alone.
        found.retain(|known| known.name != one.name);
        found.push(one);
    }
    if json {
        let row = |one: &Found| {
            json!({
                "name": one.name, "description": one.description, "version": one.version,
                "add": one.add,
            })
        };
        output::print_json(&Value::Array(found.iter().map(row).collect()), true)?;
        return Ok(0);
    }
    if found.is_empty() {
        output::eprint_line("toolcrib: the registry has no such server");
        return Ok(0);
    }
    let mut text = String::new();
    for one in &found {
        let line = |text: &str| terminal::escape_to_line(text);
        text += &format!(
            "{} {}\n    {}\n",
            line(&one.name),
            line(&one.version),
            line(&one.description)
        );
        if !one.add.is_empty() {
            let words: Vec<String> =
                one.add.iter().map(|word| terminal::quote_for_shell(&line(word))).collect();
            text += &format!("    toolcrib mcp add {}\n", words.join(" "));
        }
    }
    output::print_line(&text)?;
    output::eprint_line(
        "toolcrib: entries there are not reviewed; look at a server before you add it, and at its tools in `mcp test`",
    );
    Ok(0)
}

fn address(registry: &str, words: &str) -> Result<String, Failure> {
    let base = registry.trim_end_matches('/');
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(Failure::usage(format!("{registry} is no address of a registry")));
    }
    let mut query = String::new();
    for byte in words.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => query.push(byte.into()),
            byte => query += &format!("%{byte:02X}"),
        }
    }
    Ok(format!("{base}/v0/servers?search={query}&limit={MOST}&version=latest"))
}

/// The file of an answer.
fn file(url: &str) -> Option<PathBuf> {
    let name = canonical_json::sha256_text(url);
    Some(bootstrap::state_folder().ok()?.join("mcp").join("registry").join(format!("{name}.json")))
}

fn cached(url: &str) -> Option<Value> {
    let path = file(url)?;
    let age = SystemTime::now().duration_since(fs::metadata(&path).ok()?.modified().ok()?).ok()?;
    (age < FRESH).then(|| serde_json::from_slice(&fs::read(path).ok()?).ok()).flatten()
}

async fn fetch(url: &str) -> Result<Value, Failure> {
    let failed = |why: String| Failure::run(format!("the registry cannot be read: {why}"));
    // Its address was typed, so it may be one of this machine.
    let uri = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = uri.split(['/', '?']).next().unwrap_or_default();
    let port = if url.starts_with("http://") { 80 } else { 443 };
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:{port}") };
    let policy = AddressPolicy::with_allowed([host]).map_err(|error| failed(error.to_string()))?;
    let limits = Limits {
        total: Duration::from_secs(20),
        max_inflated_bytes: BYTES,
        max_wire_bytes: BYTES,
        ..Limits::default()
    };
    let mut request = Request::get(url);
    request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    let answer = HttpClient::new(policy).fetch(&request, &limits).await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    if answer.head.status != 200 {
        return Err(failed(format!("HTTP {}", answer.head.status)));
    }
    let value: Value =
        serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))?;
    if let Some(path) = file(url) {
        // Without the file, the registry is asked again.
        let _ = path.parent().map(fs::create_dir_all);
        let _ = fs::write(path, &answer.body);
    }
    Ok(value)
}

fn server(row: &Value) -> Option<Found> {
    // Newer answers wrap the server.
    let own = row.get("server").unwrap_or(row);
    let text = |key: &str| own.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        return None;
    }
    let mut add = vec![short_name(&name)];
    match way(own) {
        Some(words) => add.extend(words),
        None => add.clear(),
    }
    let about = text("description").chars().take(200).collect();
    Some(Found { name, description: about, version: text("version"), add })
}

/// The last part of the name, as a name of ours.
fn short_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    toolcrib_app::mcp::client::ServerName::from_lossy(last).as_str().to_owned()
}

/// How it is added: its package, or else its address.
fn way(own: &Value) -> Option<Vec<String>> {
    let list = |key: &str| own.get(key).and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, keys: &[&str]| {
        keys.iter().find_map(|key| value.get(key)?.as_str()).map(str::to_owned)
    };
    let package = list("packages").find_map(|package| {
        let kind = text(package, &["registryType", "registry_type", "registry_name"])?;
        let id = text(package, &["identifier", "name"])?;
        let version = text(package, &["version"]).filter(|version| version != "latest");
        let words: Vec<String> = match kind.as_str() {
            "npm" => {
                let spec = version.map_or(id.clone(), |version| format!("{id}@{version}"));
                vec!["npx".to_owned(), "-y".to_owned(), spec]
            }
            "pypi" => {
                let spec = version.map_or(id.clone(), |version| format!("{id}=={version}"));
                vec!["uvx".to_owned(), "--from".to_owned(), spec, id]
            }
            "oci" => {
                ["docker", "run", "-i", "--rm"].map(str::to_owned).into_iter().chain([id]).collect()
            }
            _ => return None,
        };
        Some(["--".to_owned()].into_iter().chain(words).collect())
    });
    let remote = || {
        let own = list("remotes").next()?;
        Some(vec!["--url".to_owned(), text(own, &["url"])?])
    };
    package.or_else(remote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_the_registry_are_shown_with_the_command_that_adds_them() {
        let check = |row: Value, expected: &str| {
            assert_eq!(server(&row).unwrap().add.join(" "), expected);
        };
        check(
            json!({"server": {"name": "io.github.a/files", "version": "1.2.0", "packages": [{"registryType": "npm", "identifier": "@a/files", "version": "1.2.0"}]}}),
            "files -- npx -y @a/files@1.2.0",
        );
        check(
            json!({"name": "b/Time Server", "packages": [{"registry_type": "pypi", "identifier": "srv", "version": "2"}]}),
            "time_server -- uvx --from srv==2 srv",
        );
        check(
            json!({"name": "c/web", "remotes": [{"type": "streamable-http", "url": "https://c.example/mcp"}]}),
            "web --url https://c.example/mcp",
        );
        check(json!({"name": "d"}), "");
        assert!(server(&json!({})).is_none());
        let url = address("https://r.example/", "a b").unwrap();
        assert_eq!(url, "https://r.example/v0/servers?search=a%20b&limit=30&version=latest");
    }
}
