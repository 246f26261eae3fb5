//! The files in which other programs name their MCP servers. They are only read; nothing of them runs.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::server_config::{Http, Remote, ServerConfig, ServerName, Stdio};

/// A server that another program knows.
#[derive(Debug, Clone)]
pub struct Found {
    /// It, as one of ours: off.
    pub config: ServerConfig,
    /// Values that belong into the vault, by the names under which the configuration has them.
    pub secrets: Vec<(String, String)>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Whether it is not taken over.
    pub skip: bool,
}

/// Where programs have their servers: `mcpServers` (Claude, Cursor, Gemini CLI), `servers` (VS Code), `context_servers` (Zed), `mcp_servers`
/// (Codex), `extensions` (goose).
const KEYS: [&str; 5] = ["mcpServers", "servers", "context_servers", "mcp_servers", "extensions"];

/// The servers of a file, whichever of these programs it belongs to: JSON (comments are allowed), TOML or YAML.
///
/// # Errors
/// That it is none of these, or has no servers, as a part of a sentence.
pub fn read(text: &str) -> Result<Vec<Found>, String> {
    let document = document(text)?;
    let servers = KEYS.iter().find_map(|key| document.get(key)?.as_object());
    // VS Code keeps them one level deeper in its settings.
    let deeper =
        || document.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
    let servers = servers.or_else(deeper).ok_or("it names no MCP servers")?;
    Ok(servers.iter().filter_map(|(name, server)| found(name, server)).collect())
}

fn document(text: &str) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str::<Value>(&plain_json(text)) {
        return Ok(value);
    }
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        return serde_json::to_value(table).map_err(|error| error.to_string());
    }
    let value = serde_saphyr::from_str::<Value>(text).ok().filter(Value::is_object);
    value.ok_or_else(|| "it is no JSON, TOML or YAML that can be read".to_owned())
}

/// JSON without its comments and without commas before a closing bracket.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = rest.next() {
        match (in_text, c, rest.peek()) {
            (true, '\\', Some(&next)) => {
                plain.extend([c, next]);
                rest.next();
            }
            (_, '"', _) => {
                in_text = !in_text;
                plain.push(c);
            }
            (false, '/', Some('/')) => while rest.next_if(|&c| c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn text<'a>(server: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| server.get(key)?.as_str())
}

fn pairs(server: &Value, keys: &[&str]) -> Vec<(String, String)> {
    let map = keys.iter().find_map(|key| server.get(key)?.as_object());
    let pair = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), value)
    };
    map.map(Map::iter).into_iter().flatten().map(pair).collect()
}

fn found(own_name: &str, server: &Value) -> Option<Found> {
    let name = ServerName::closest(own_name);
    let mut notes = Vec::new();
    if name.as_str() != own_name {
        notes.push(format!("it is called {own_name} there"));
    }
    // Older files of Zed have the program in an object.
    let program = server.get("command").filter(|command| command.is_object()).unwrap_or(server);
    let command = text(program, &["command", "cmd", "path"]);
    let url = text(server, &["url", "httpUrl", "serverUrl", "uri"]);
    let mut secrets = Vec::new();
    let remote = match (command, url) {
        (Some(command), _) => {
            let args = program.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
            let env = pairs(program, &["env", "envs"]);
            let env = env.into_iter().map(|(variable, value)| {
                let value = kept(&name, &variable, value, &mut secrets, &mut notes);
                (variable, value)
            });
            Remote::Stdio(Stdio {
                command: command.to_owned(),
                env: env.collect(),
                args: args.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                folder: text(server, &["cwd"]).map(Into::into),
                network: false,
            })
        }
        (None, Some(url)) => {
            let mut headers = pairs(server, &["headers", "http_headers"]);
            if let Some(variable) = text(server, &["bearer_token_env_var"]) {
                headers
                    .push(("Authorization".to_owned(), format!("Bearer ${{secret:{variable}}}")));
                notes.push(format!("keep its token with `toolcrib secret set {variable}`"));
            }
            let headers = headers.into_iter().map(|(header, value)| {
                let value = kept(&name, &header, value, &mut secrets, &mut notes);
                (header, value)
            });
            Remote::Http(Http {
                url: url.to_owned(),
                headers: headers.collect(),
                ..Http::default()
            })
        }
        // Built into the other program.
        (None, None) => return None,
    };
    if matches!(&remote, Remote::Stdio(_)) {
        notes.push("it has no network; set `network = true` in mcp.toml if it needs it".to_owned());
    }
    if matches!(text(server, &["type", "transport"]), Some("sse")) {
        notes.push("it speaks the old HTTP+SSE transport, which is not spoken here".to_owned());
    }
    let config = ServerConfig { enabled: false, ..ServerConfig::new(name, remote) };
    Some(Found { config, secrets, notes, skip: false })
}

/// A value, or the name of the secret that it becomes.
fn kept(
    server: &ServerName,
    name: &str,
    value: String,
    secrets: &mut Vec<(String, String)>,
    notes: &mut Vec<String>,
) -> String {
    if value.contains("secret:") {
        return value;
    }
    let lower = name.to_lowercase();
    let tells = ["key", "token", "secret", "password", "passwd", "auth", "credential", "cookie"];
    if !tells.iter().any(|part| lower.contains(part)) || value.is_empty() {
        return value;
    }
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let secret = format!("mcp_{}_{clean}", server.as_str().replace('-', "_"));
    if value.contains("${") || value.starts_with('$') {
        notes.push(format!(
            "the other program fills in {name}; keep it with `toolcrib secret set {secret}`"
        ));
        return format!("secret:{secret}");
    }
    match value.split_once(' ') {
        Some((scheme @ ("Bearer" | "Basic" | "Token"), rest)) => {
            secrets.push((secret.clone(), rest.to_owned()));
            format!("{scheme} ${{secret:{secret}}}")
        }
        _ => {
            secrets.push((secret.clone(), value));
            format!("secret:{secret}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Found {
        let mut found = read(text).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn each_program_has_its_form() {
        let stdio = |text: &str, name: &str| {
            let found = one(text);
            assert_eq!(found.config.name.as_str(), name, "{text}");
            assert!(!found.config.enabled);
            let Remote::Stdio(program) = found.config.remote else { panic!("{text}") };
            assert_eq!((program.command.as_str(), program.args.len()), ("npx", 1), "{text}");
        };
        stdio(r#"{"mcpServers": {"Files": {"command": "npx", "args": ["x"]}}}"#, "files");
        stdio(
            "{\n// mine\n\"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"x//y\",],}}}",
            "a",
        );
        stdio(r#"{"mcp": {"servers": {"a": {"command": "npx", "args": ["x"]}}}}"#, "a");
        stdio(r#"{"context_servers": {"a": {"command": {"path": "npx", "args": ["x"]}}}}"#, "a");
        stdio(r#"{"context_servers": {"a": {"command": "npx", "args": ["x"]}}}"#, "a");
        stdio("[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"x\"]\n", "a");
        stdio(
            "extensions:\n  a:\n    type: stdio\n    cmd: npx\n    args: [x]\n  b:\n    type: builtin\n",
            "a",
        );
        for text in ["", "[]", "{}", "hello", "{\"mcpServers\": 5}", "/* open", "{\"a\": \"\\"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_go_into_the_vault() {
        let found = one(
            r#"{"mcpServers": {"gh": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_1", "LANG": "C", "API_KEY": "${input:key}"}}}}"#,
        );
        assert_eq!(found.secrets, [("mcp_gh_GITHUB_TOKEN".to_owned(), "ghp_1".to_owned())]);
        let Remote::Stdio(program) = &found.config.remote else { panic!() };
        let env: Vec<&str> = program.env.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(env, ["secret:mcp_gh_GITHUB_TOKEN", "C", "secret:mcp_gh_API_KEY"]);
        assert!(!format!("{:?}", found.config).contains("ghp_1"));
        let found = one(
            r#"{"mcpServers": {"web": {"httpUrl": "https://x.example/mcp", "headers": {"Authorization": "Bearer abc"}}}}"#,
        );
        assert_eq!(found.secrets, [("mcp_web_Authorization".to_owned(), "abc".to_owned())]);
        let Remote::Http(http) = &found.config.remote else { panic!() };
        assert_eq!(http.headers[0].1, "Bearer ${secret:mcp_web_Authorization}");
    }
}
