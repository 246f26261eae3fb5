//! Parses a server in a response of the registry of MCP servers, and builds the command that adds
//! it. Entries are not reviewed: no part of one may become an option of Toolcrib or of a launcher.

use serde_json::Value;
use toolcrib_app::mcp::client::ServerName;

/// Key of the registry's own metadata of an entry.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";
/// Maximum number of displayed characters of a description.
const DESCRIPTION_CHARS: usize = 200;

/// A server of the registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RegistryEntry {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) version: String,
    /// Whether its publisher discourages its use.
    pub(super) deprecated: bool,
    /// The words after `toolcrib mcp add`; empty if it has no supported form.
    pub(super) add: Vec<String>,
    /// Required variables and headers that the person has to fill in.
    pub(super) required: Vec<String>,
}

/// The way to add a server: words before and after the program or address.
#[derive(Default)]
struct Way {
    options: Vec<String>,
    program: Vec<String>,
    required: Vec<String>,
}

/// Parses a row of a response; returns `None` for a server that was deleted, is an older version,
/// or has no name.
pub(super) fn parse(row: &Value) -> Option<RegistryEntry> {
    // Before 2025-09, the row was the server itself.
    let own = row.get("server").unwrap_or(row);
    let official = row.get("_meta").and_then(|meta| meta.get(OFFICIAL));
    let status = official.and_then(|own| text(own, &["status"])).or_else(|| text(own, &["status"]));
    let is_old =
        official.and_then(|own| own.get("isLatest")).and_then(Value::as_bool) == Some(false);
    if status.as_deref() == Some("deleted") || is_old {
        return None;
    }
    let name = text(own, &["name"]).filter(|name| !name.is_empty())?;
    let (mut add, mut required) = (Vec::new(), Vec::new());
    if let Some(way) = package(own).or_else(|| remote(own)) {
        add.push(short_name(&name));
        add.extend(way.options);
        add.extend(way.program);
        required = way.required;
    }
    let about = text(own, &["description"]).unwrap_or_default();
    Some(RegistryEntry {
        name,
        description: about.chars().take(DESCRIPTION_CHARS).collect(),
        version: text(own, &["version"]).unwrap_or_default(),
        deprecated: status.as_deref() == Some("deprecated"),
        add,
        required,
    })
}

/// Returns the last part of the name as a name for Toolcrib; for `com.example/mcp`, the publisher.
fn short_name(name: &str) -> String {
    let (space, last) = name.rsplit_once('/').unwrap_or((name, name));
    let says_nothing = matches!(last, "mcp" | "mcp-server" | "server");
    let publisher = space.rsplit('.').next().unwrap_or(space);
    ServerName::from_lossy(if says_nothing { publisher } else { last }).as_str().to_owned()
}

fn text(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| value.get(key)?.as_str()).map(str::to_owned)
}

fn flag(value: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| value.get(key).and_then(Value::as_bool) == Some(true))
}

fn list<'a>(value: &'a Value, keys: &[&str]) -> impl Iterator<Item = &'a Value> {
    let found = keys.iter().find_map(|key| value.get(key)?.as_array());
    found.into_iter().flatten()
}

/// Returns the first package with a recognized launcher.
fn package(own: &Value) -> Option<Way> {
    list(own, &["packages"]).find_map(|package| {
        let kind = text(package, &["registryType", "registry_type", "registry_name"])?;
        // An option instead of a name would become an option of the launcher.
        let is_name = |text: &String| !text.starts_with('-') && !text.trim().is_empty();
        let id = text(package, &["identifier", "name"]).filter(is_name)?;
        let version = text(package, &["version"]).filter(|version| version != "latest");
        let transport = package.get("transport").and_then(|own| text(own, &["type"]));
        if transport.is_some_and(|transport| transport != "stdio") {
            return None;
        }
        let spec = |sign: &str| {
            version.as_ref().map_or_else(|| id.clone(), |version| format!("{id}{sign}{version}"))
        };
        let mut way = Way::default();
        let variables: Vec<&Value> =
            list(package, &["environmentVariables", "environment_variables"]).collect();
        let names: Vec<String> = variables.iter().filter_map(|one| text(one, &["name"])).collect();
        way.program = match kind.as_str() {
            "npm" => words(&["npx", "-y", &spec("@")]),
            "pypi" => words(&["uvx", "--from", &spec("=="), &id]),
            "oci" => {
                let mut run = words(&["docker", "run", "-i", "--rm"]);
                for name in names.iter().filter(|name| is_name(name)) {
                    run.extend(words(&["-e", name]));
                }
                run.push(id);
                run
            }
            _ => return None,
        };
        way.program.insert(0, "--".to_owned());
        let given = list(package, &["packageArguments", "package_arguments"]);
        way.program.extend(given.flat_map(argument));
        for one in variables.iter().filter(|one| flag(one, &["isRequired", "is_required"])) {
            way.required.extend(text(one, &["name"]));
        }
        way.options = way
            .required
            .iter()
            .flat_map(|name| ["--env".to_owned(), format!("{name}=…")])
            .collect();
        Some(way)
    })
}

/// Returns an argument with a fixed value, or a placeholder for a required one.
fn argument(own: &Value) -> Vec<String> {
    let value = text(own, &["value", "default"]);
    let hint = || text(own, &["valueHint", "value_hint"]).unwrap_or_else(|| "VALUE".to_owned());
    let value = match value {
        Some(value) if !value.contains('{') => Some(value),
        _ if flag(own, &["isRequired", "is_required"]) => Some(hint().to_uppercase()),
        _ => None,
    };
    match (text(own, &["type"]).as_deref(), value) {
        (Some("named"), value) => {
            let is_given = value.is_some() || flag(own, &["isRequired", "is_required"]);
            let name = text(own, &["name"]).filter(|_| is_given);
            name.into_iter().chain(value).collect()
        }
        (_, value) => value.into_iter().collect(),
    }
}

/// Returns the first address with a supported transport.
fn remote(own: &Value) -> Option<Way> {
    list(own, &["remotes"]).find_map(|remote| {
        let kind = text(remote, &["type", "transport_type"]);
        let url = text(remote, &["url"]).filter(|url| !url.contains('{'))?;
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if kind.is_some_and(|kind| kind != "streamable-http") || !is_web {
            return None;
        }
        let needed =
            list(remote, &["headers"]).filter(|one| flag(one, &["isRequired", "is_required"]));
        let required: Vec<String> = needed.filter_map(|one| text(one, &["name"])).collect();
        let mut program = words(&["--url", &url]);
        program
            .extend(required.iter().flat_map(|name| ["--header".to_owned(), format!("{name}: …")]));
        Some(Way { options: Vec::new(), program, required })
    })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_shown_with_the_command_that_adds_it() {
        let check = |row: Value, expected: &str| {
            assert_eq!(parse(&row).unwrap().add.join(" "), expected, "{row}");
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
            json!({"name": "c/web", "remotes": [{"type": "sse", "url": "https://c.example/sse"}, {"type": "streamable-http", "url": "https://c.example/mcp"}]}),
            "web --url https://c.example/mcp",
        );
        check(
            json!({"name": "com.acme/mcp", "remotes": [{"url": "https://acme.example/mcp"}]}),
            "acme --url https://acme.example/mcp",
        );
        check(json!({"name": "d"}), "");
    }

    #[test]
    fn what_is_required_has_its_place() {
        let row = json!({"name": "a/search", "packages": [{"registryType": "npm", "identifier": "s", "environmentVariables": [{"name": "KEY", "isRequired": true}, {"name": "LEVEL"}], "packageArguments": [{"type": "positional", "value": "serve"}, {"type": "named", "name": "--dir", "isRequired": true, "valueHint": "folder"}, {"type": "named", "name": "--mode"}]}]});
        let entry = parse(&row).unwrap();
        assert_eq!(entry.add.join(" "), "search --env KEY=… -- npx -y s serve --dir FOLDER");
        assert_eq!(entry.required, ["KEY"]);
    }

    #[test]
    fn entries_that_were_taken_back_are_left_out() {
        let row =
            |official: Value| json!({"server": {"name": "a/b"}, "_meta": {OFFICIAL: official}});
        assert!(parse(&row(json!({"status": "deleted"}))).is_none());
        assert!(parse(&row(json!({"status": "active", "isLatest": false}))).is_none());
        assert!(parse(&row(json!({"status": "deprecated", "isLatest": true}))).unwrap().deprecated);
        assert!(parse(&json!({})).is_none());
    }

    /// `npx -y --registry=…` would accept any package from any address.
    #[test]
    fn an_entry_gives_no_option_to_a_launcher() {
        for (kind, id) in
            [("npm", "--registry=https://evil.example/"), ("oci", "-v/:/host"), ("pypi", " ")]
        {
            let row =
                json!({"name": "a/b", "packages": [{"registryType": kind, "identifier": id}]});
            assert_eq!(parse(&row).unwrap().add, Vec::<String>::new(), "{id}");
        }
    }
}
