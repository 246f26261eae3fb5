//! `toolcrib mcp search`: the registry of MCP servers. Responses are cached for an hour. The
//! command adds nothing: it shows the command that adds a server, which stays disabled until it was
//! reviewed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolcrib_core::canonical_json;
use toolcrib_net::{AddressPolicy, HttpClient, Limits, Request};

use super::registry_entry::{self, RegistryEntry};
use crate::clap_args::McpSearch;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// Time for which a response is cached.
const FRESH: Duration = Duration::from_secs(3600);
/// Maximum number of servers in a response.
const MOST: usize = 30;
/// Maximum number of bytes of a response.
const BYTES: usize = 4 << 20;

pub(super) async fn run(command: &McpSearch, json: bool) -> Result<u8, Failure> {
    let url = address(&command.registry, &command.words)?;
    let answer = answer(&url).await?;
    let rows = answer.get("servers").and_then(Value::as_array).ok_or_else(|| {
        Failure::run(format!("{} does not answer like a registry of MCP servers", command.registry))
    })?;
    let mut found: Vec<RegistryEntry> = Vec::new();
    for one in rows.iter().filter_map(registry_entry::parse) {
        // If the registry does not mark the newest version, the last one of each server counts.
        found.retain(|known| known.name != one.name);
        found.push(one);
    }
    if json {
        let row = |one: &RegistryEntry| {
            json!({
                "name": one.name, "description": one.description, "version": one.version,
                "deprecated": one.deprecated, "add": one.add, "required": one.required,
            })
        };
        output::print_json(&Value::Array(found.iter().map(row).collect()), true)?;
        return Ok(0);
    }
    if found.is_empty() {
        output::eprint_line(
            "toolcrib: the registry has no server with this in its name; it looks for one part of a name",
        );
        return Ok(0);
    }
    output::print_line(&found.iter().map(entry_text).collect::<String>())?;
    let is_more = answer.pointer("/metadata/nextCursor").and_then(Value::as_str);
    if is_more.is_some_and(|cursor| !cursor.is_empty()) {
        output::eprint_line(&format!("toolcrib: the first {MOST}; say more of the name"));
    }
    output::eprint_line(
        "toolcrib: entries there are not reviewed; look at a server before you add it, and at its tools in `mcp test`",
    );
    Ok(0)
}

fn entry_text(one: &RegistryEntry) -> String {
    let line = |text: &str| terminal::escape_to_line(text);
    let deprecated = if one.deprecated { " (deprecated)" } else { "" };
    let mut text = format!("{} {}{deprecated}\n", line(&one.name), line(&one.version));
    text += &format!("    {}\n", line(&one.description));
    if !one.add.is_empty() {
        let words: Vec<String> =
            one.add.iter().map(|word| terminal::quote_for_shell(&line(word))).collect();
        text += &format!("    toolcrib mcp add {}\n", words.join(" "));
    }
    text
}

/// Returns the response to a search: a fresh cached one, or that of the registry. If the registry
/// does not respond, an older one is used.
async fn answer(url: &str) -> Result<Value, Failure> {
    let kept = cached(url);
    if let Some((answer, age)) = &kept
        && *age < FRESH
    {
        return Ok(answer.clone());
    }
    match (fetch(url).await, kept) {
        (Ok(answer), _) => Ok(answer),
        (Err(failure), Some((answer, age))) => {
            let hours = age.as_secs() / 3600;
            let why = failure.message;
            output::eprint_line(&format!("toolcrib: {why}; this is its answer of {hours} h ago"));
            Ok(answer)
        }
        (Err(failure), None) => Err(failure),
    }
}

fn address(registry: &str, words: &str) -> Result<String, Failure> {
    let base = registry.trim_end_matches('/');
    if !base.starts_with("https://") && !base.starts_with("http://") {
        return Err(Failure::usage(format!("{registry} is not an address of a registry")));
    }
    let mut query = String::new();
    for byte in words.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => query.push(byte.into()),
            byte => query += &format!("%{byte:02X}"),
        }
    }
    Ok(format!("{base}/v0.1/servers?search={query}&limit={MOST}&version=latest"))
}

/// Returns the cache file of a response.
fn file(url: &str) -> Option<PathBuf> {
    let name = canonical_json::sha256_text(url);
    Some(bootstrap::state_folder().ok()?.join("mcp").join("registry").join(format!("{name}.json")))
}

/// Returns a cached response with its age.
fn cached(url: &str) -> Option<(Value, Duration)> {
    let path = file(url)?;
    let age = SystemTime::now().duration_since(fs::metadata(&path).ok()?.modified().ok()?).ok()?;
    Some((serde_json::from_slice(&fs::read(path).ok()?).ok()?, age))
}

async fn fetch(url: &str) -> Result<Value, Failure> {
    let failed = |why: String| Failure::run(format!("the registry cannot be read: {why}"));
    // The person typed the address, so it may be one of this machine.
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
        // Without the file, the registry is contacted again.
        let _ = path.parent().map(fs::create_dir_all);
        let _ = fs::write(path, &answer.body);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_encoded_in_the_address() {
        let url = address("https://r.example/", "a b").unwrap();
        assert_eq!(url, "https://r.example/v0.1/servers?search=a%20b&limit=30&version=latest");
        assert!(address("ftp://r.example", "a").is_err());
    }
}
