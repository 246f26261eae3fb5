//! Imports MCP servers from the configuration files of other programs. The files are only read;
//! nothing in them runs.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::server_config::{Http, Remote, ServerConfig, ServerName, Stdio};

/// A server from another program's configuration.
#[derive(Debug, Clone)]
pub struct ImportedServer {
    /// The server in our configuration; disabled.
    pub config: ServerConfig,
    /// Values to store in the vault, by the secret names that the configuration uses.
    pub secrets: Vec<(String, String)>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Whether it cannot be imported.
    pub skip: bool,
}

/// Keys of the server list: `mcpServers` (Claude, Cursor, Gemini CLI), `servers` (VS Code),
/// `context_servers` (Zed), `mcp_servers` (Codex), `extensions` (goose).
const KEYS: [&str; 5] = ["mcpServers", "servers", "context_servers", "mcp_servers", "extensions"];

/// Minimum length of a value that is stored in the vault, in bytes.
const SHORTEST_SECRET: usize = 8;

/// Parses the servers of a file of any of these programs: JSON (with comments), TOML or YAML.
///
/// # Errors
/// A sentence fragment: the format is unknown, or there are no servers.
pub fn parse(text: &str) -> Result<Vec<ImportedServer>, String> {
    let document = document(text)?;
    let top = KEYS.iter().find_map(|key| document.get(key)?.as_object());
    // In VS Code's settings they are one level deeper.
    let deeper =
        || document.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
    // Claude Code stores the servers of a project with the project.
    let folders = document.get("projects").and_then(Value::as_object).into_iter().flatten();
    let of_folders = folders.filter_map(|(folder, own)| Some((folder, own.get(KEYS.first()?)?)));
    let of_folders: Vec<_> =
        of_folders.filter_map(|(folder, own)| Some((Some(folder), own.as_object()?))).collect();
    let all: Vec<_> =
        top.or_else(deeper).map(|own| (None, own)).into_iter().chain(of_folders).collect();
    if all.is_empty() {
        return Err("it names no MCP servers".to_owned());
    }
    let mut taken: Vec<ImportedServer> = Vec::new();
    for (folder, (name, server)) in
        all.iter().flat_map(|(folder, own)| own.iter().map(move |one| (folder, one)))
    {
        let Some(mut new) = parse_server(name, server) else { continue };
        let twice = taken.iter().any(|one| one.config.name == new.config.name);
        if let Some(folder) = folder {
            new.notes.push(format!("it is there for {folder} alone"));
        }
        if twice {
            new.notes.push("there is another of this name, which is taken".to_owned());
        }
        new.skip = twice;
        taken.push(new);
    }
    Ok(taken)
}

fn document(text: &str) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str::<Value>(&plain_json(text)) {
        return Ok(value);
    }
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        return serde_json::to_value(table).map_err(|error| error.to_string());
    }
    let value = serde_saphyr::from_str::<Value>(text).ok().filter(Value::is_object);
    value.ok_or_else(|| "it is not valid JSON, TOML or YAML".to_owned())
}

/// Removes comments and trailing commas from JSON.
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

/// Returns the names of variables whose values the other program stores.
fn named<'a>(server: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    let names = server.get(key).and_then(Value::as_array).into_iter().flatten();
    // Codex uses a string, or an object with a name.
    names.filter_map(|name| name.as_str().or_else(|| name.get("name")?.as_str()))
}

fn parse_server(own_name: &str, server: &Value) -> Option<ImportedServer> {
    // Older goose files wrap everything in an object.
    let server = server.get("config").filter(|own| own.is_object()).unwrap_or(server);
    let name = ServerName::from_lossy(own_name);
    let mut notes = Vec::new();
    if name.as_str() != own_name {
        notes.push(format!("it is called {own_name} there"));
    }
    // Older Zed files have the program in an object.
    let program = server.get("command").filter(|command| command.is_object()).unwrap_or(server);
    let command = text(program, &["command", "cmd", "path"]);
    let url = text(server, &["url", "httpUrl", "serverUrl", "uri"]);
    let mut secrets = Vec::new();
    let remote = match (command, url) {
        (Some(command), _) => {
            let args = program.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
            let env = pairs(program, &["env", "envs"]);
            let env = env.into_iter().map(|(variable, value)| {
                let value = extract_secrets(&name, &variable, value, &mut secrets, &mut notes);
                (variable, value)
            });
            let mut env: Vec<(String, String)> = env.collect();
            for variable in named(server, "env_keys").chain(named(server, "env_vars")) {
                // Values in the other program's own secret store cannot be read.
                let value =
                    extract_secrets(&name, variable, "${}".to_owned(), &mut secrets, &mut notes);
                if value.starts_with("secret:") {
                    env.push((variable.to_owned(), value));
                } else {
                    notes.push(format!("the other program passes {variable} on; set it in env"));
                }
            }
            if let Some(file) = text(server, &["envFile"]) {
                notes.push(format!("the variables of {file} are not read; set them in env"));
            }
            Remote::Stdio(Stdio {
                command: command.to_owned(),
                env,
                args: args.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                folder: text(server, &["cwd"]).map(Into::into),
                network: false,
                ..Stdio::default()
            })
        }
        (None, Some(url)) => {
            let mut headers = pairs(server, &["headers", "http_headers"]);
            if let Some(variable) = text(server, &["bearer_token_env_var"]) {
                headers
                    .push(("Authorization".to_owned(), format!("Bearer ${{secret:{variable}}}")));
                notes.push(format!("keep its token with `toolcrib secret set {variable}`"));
            }
            for (header, variable) in pairs(server, &["env_http_headers"]) {
                headers.push((header, format!("${{secret:{variable}}}")));
                notes.push(format!("keep it with `toolcrib secret set {variable}`"));
            }
            let headers = headers.into_iter().map(|(header, value)| {
                let value = extract_secrets(&name, &header, value, &mut secrets, &mut notes);
                (header, value)
            });
            Remote::Http(Http {
                url: url.to_owned(),
                headers: headers.collect(),
                ..Http::default()
            })
        }
        // The server is built into the other program.
        (None, None) => return None,
    };
    if matches!(&remote, Remote::Stdio(_)) {
        notes.push("it has no network; set `network = true` in mcp.toml if it needs it".to_owned());
    }
    if matches!(text(server, &["type", "transport"]), Some("sse")) {
        notes.push("it speaks the old HTTP+SSE transport, which is not spoken here".to_owned());
    }
    let config = ServerConfig { enabled: false, ..ServerConfig::new(name, remote) };
    Some(ImportedServer { config, secrets, notes, skip: false })
}

/// Moves values that look like secrets out of variables or headers of a server and replaces them by
/// references. Returns the secrets by the names that the references use.
#[must_use]
pub fn take_secrets(server: &ServerName, pairs: &mut [(String, String)]) -> Vec<(String, String)> {
    let (mut secrets, mut notes) = (Vec::new(), Vec::new());
    for (name, value) in pairs {
        // The vault refuses secrets that cannot be masked without damage to other text.
        let schemes = ["Bearer ", "Basic ", "Token "];
        let bare = schemes.iter().find_map(|scheme| value.strip_prefix(scheme));
        let bare = bare.unwrap_or(value);
        if bare.trim().len() < SHORTEST_SECRET {
            continue;
        }
        let given = std::mem::take(value);
        // A placeholder that a shell has not replaced is not a secret.
        *value = extract_secrets(server, name, given, &mut secrets, &mut notes);
    }
    secrets
}

/// Returns whether a secret of this name was extracted from the configuration of this server.
#[must_use]
pub fn is_secret_of(server: &ServerName, secret: &str) -> bool {
    secret.starts_with(&secret_prefix(server))
}

fn secret_prefix(server: &ServerName) -> String {
    format!("mcp_{}_", server.as_str().replace('-', "_"))
}

/// Returns a plain value unchanged; extracts a secret and returns its reference.
fn extract_secrets(
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
    let secret = format!("{}{clean}", secret_prefix(server));
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

    fn one(text: &str) -> ImportedServer {
        let mut found = parse(text).unwrap();
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
            assert!(parse(text).is_err(), "{text}");
        }
    }

    /// Complete files in the current formats of these programs.
    #[test]
    fn whole_files_of_all_eight_programs_are_read() {
        let check = |program: &str, text: &str, expected: &[&str]| {
            let found = parse(text).unwrap_or_else(|error| panic!("{program}: {error}"));
            let row = |one: &ImportedServer| {
                let name = one.config.name.as_str();
                let skip = if one.skip { " skipped" } else { "" };
                match &one.config.remote {
                    Remote::Stdio(own) => {
                        let env: String =
                            own.env.iter().map(|(k, v)| format!(" {k}={v}")).collect();
                        format!("{name}: {} {}{env}{skip}", own.command, own.args.join(" "))
                    }
                    Remote::Http(own) => {
                        let headers: String =
                            own.headers.iter().map(|(k, v)| format!(" {k}={v}")).collect();
                        format!("{name}: {}{headers}{skip}", own.url)
                    }
                }
            };
            assert_eq!(found.iter().map(row).collect::<Vec<_>>(), expected, "{program}");
            assert!(found.iter().all(|one| !one.config.enabled), "{program}");
        };
        check(
            "Claude Desktop",
            r#"{"globalShortcut": "", "mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "server-filesystem", "/data/notes"]}}, "preferences": {"menuBarEnabled": false}}"#,
            &["filesystem: npx -y server-filesystem /data/notes"],
        );
        check(
            "Claude Code",
            r#"{"numStartups": 7, "mcpServers": {"tracker": {"type": "http", "url": "https://t.example/mcp", "headers": {"Authorization": "Bearer ${TRACKER}"}}},
                "projects": {"/src/a": {"allowedTools": [], "mcpServers": {"db": {"type": "stdio", "command": "db-mcp", "args": [], "env": {}}, "tracker": {"type": "stdio", "command": "other", "args": []}}}, "/src/b": {"mcpServers": {}}}}"#,
            &[
                "tracker: https://t.example/mcp Authorization=secret:mcp_tracker_Authorization",
                "db: db-mcp ",
                "tracker: other  skipped",
            ],
        );
        check(
            "Cursor",
            r#"{"mcpServers": {"web": {"url": "https://w.example/mcp", "headers": {"API_KEY": "k-1"}}, "py": {"command": "python", "args": ["s.py"], "env": {"LANG": "C"}}}}"#,
            &[
                "web: https://w.example/mcp API_KEY=secret:mcp_web_API_KEY",
                "py: python s.py LANG=C",
            ],
        );
        check(
            "VS Code",
            "{\n  // of this workspace\n  \"inputs\": [{\"type\": \"promptString\", \"id\": \"key\", \"password\": true}],\n  \"servers\": {\"gh\": {\"type\": \"http\", \"url\": \"https://g.example/mcp\"},\n    \"pl\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"pl\"], \"env\": {\"PL_KEY\": \"${input:key}\"}, \"envFile\": \"${workspaceFolder}/.env\"},},\n}",
            &["gh: https://g.example/mcp", "pl: npx -y pl PL_KEY=secret:mcp_pl_PL_KEY"],
        );
        check(
            "Codex",
            "model = \"m\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs\"]\nenv_vars = [\"DOCS_TOKEN\", \"LANG\"]\nstartup_timeout_sec = 20\n[mcp_servers.docs.env]\nMODE = \"x\"\n[mcp_servers.figma]\nurl = \"https://f.example/mcp\"\nbearer_token_env_var = \"FIGMA\"\nhttp_headers = { \"X-Region\" = \"eu\" }\nenv_http_headers = { \"X-Team\" = \"TEAM\" }\n",
            &[
                "docs: npx -y docs MODE=x DOCS_TOKEN=secret:mcp_docs_DOCS_TOKEN",
                "figma: https://f.example/mcp X-Region=eu Authorization=Bearer ${secret:FIGMA} X-Team=${secret:TEAM}",
            ],
        );
        check(
            "goose",
            "GOOSE_PROVIDER: p\nextensions:\n  developer:\n    bundled: true\n    enabled: true\n    name: developer\n    type: builtin\n  fetch:\n    args:\n    - mcp-server-fetch\n    bundled: null\n    cmd: uvx\n    description: ''\n    enabled: true\n    env_keys:\n    - FETCH_API_KEY\n    envs: {}\n    name: fetch\n    timeout: 300\n    type: stdio\n  remote:\n    enabled: true\n    type: streamable_http\n    uri: https://r.example/mcp\n    headers: {}\n",
            &[
                "fetch: uvx mcp-server-fetch FETCH_API_KEY=secret:mcp_fetch_FETCH_API_KEY",
                "remote: https://r.example/mcp",
            ],
        );
        check(
            "Gemini CLI",
            r#"{"mcp": {"allowed": ["a"]}, "mcpServers": {"tools": {"command": "python", "args": ["t.py"], "env": {"API_KEY": "$MY_KEY"}, "cwd": "./t", "timeout": 30000, "trust": false}, "web": {"httpUrl": "https://w.example/mcp"}}}"#,
            &["tools: python t.py API_KEY=secret:mcp_tools_API_KEY", "web: https://w.example/mcp"],
        );
        check(
            "Zed",
            "{\n  // mine\n  \"theme\": \"x\",\n  \"context_servers\": {\"gh\": {\"source\": \"extension\", \"enabled\": true, \"settings\": {\"token\": \"t\"}},\n    \"hex\": {\"source\": \"custom\", \"command\": \"npx\", \"args\": [\"-y\", \"hex\"], \"env\": {}}, \"you\": {\"source\": \"custom\", \"url\": \"https://y.example/mcp\"},},\n}",
            &["hex: npx -y hex", "you: https://y.example/mcp"],
        );
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
