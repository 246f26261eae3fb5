//! Converts a server's tool definition, which is untrusted text, into ours.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;
use toolcrib_core::{
    Effect, Reach, Risk, Tier, ToolMeta, ToolName, ToolSpec, Trust, canonical_json, remote_name,
};

use super::server_config::{Remote, ServerConfig};

/// Largest definition, in bytes. The largest in known servers have 60 KB.
const DEFINITION_BYTES: usize = 256 * 1024;
/// Deepest nesting of a schema; providers accept 5 to 10 levels.
const SCHEMA_DEPTH: usize = 64;
/// Characters of a description that a model gets.
const DESCRIPTION_CHARS: usize = 4096;

/// Why a definition is unusable, as a sentence fragment.
type DefinitionError = String;

/// Returns the SHA-256 of a complete definition together with the server's identity.
pub(crate) fn hash(identity: &str, definition: &Value) -> String {
    canonical_json::sha256_parts(&[identity, &canonical_json::to_string(definition)])
}

/// Returns the server's name of the tool.
pub(crate) fn own_name(definition: &Value) -> Option<&str> {
    definition.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// Returns whether the tool can only be called as a task (revision 2025-11-25).
pub(crate) fn requires_task(definition: &Value) -> bool {
    definition.pointer("/execution/taskSupport").and_then(Value::as_str) == Some("required")
}

/// Returns our name of the tool.
pub(crate) fn canonical_name(config: &ServerConfig, definition: &Value) -> ToolName {
    remote_name(config.name.as_str(), own_name(definition).unwrap_or_default())
}

/// Converts the part of a definition that says nothing about its server: description, schemas and
/// title. The name is ours; everything else has the strictest defaults.
///
/// # Errors
/// Why the definition is unusable, as a sentence fragment.
pub fn bounded_spec(name: ToolName, definition: &Value) -> Result<ToolSpec, DefinitionError> {
    let size = definition.to_string().len();
    if size > DEFINITION_BYTES {
        return Err(format!(
            "its definition has {size} bytes; at most {DEFINITION_BYTES} are taken"
        ));
    }
    let schema = definition.get("inputSchema").cloned().unwrap_or(Value::Null);
    if !schema.is_object() {
        return Err("its definition has no schema of its arguments".to_owned());
    }
    let output = definition.get("outputSchema").filter(|schema| schema.is_object());
    if [Some(&schema), output].into_iter().flatten().any(|schema| depth(schema) > SCHEMA_DEPTH) {
        return Err(format!("its schema is nested deeper than {SCHEMA_DEPTH} levels"));
    }
    let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut spec = ToolSpec::new(name, sanitize_description(text("description")), schema);
    let annotations = definition.get("annotations");
    let title = annotations.and_then(|own| own.get("title")).and_then(Value::as_str);
    let title = Some(text("title")).filter(|title| !title.is_empty()).or(title);
    if let Some(title) = title {
        spec.title = sanitize_description(title).chars().take(120).collect();
    }
    spec.output_schema = output.map(|schema| schema.clone().into());
    spec.tier = Tier::Interface;
    Ok(spec)
}

/// Converts the definition.
pub(crate) fn spec(
    config: &ServerConfig,
    identity: &str,
    definition: &Value,
) -> Result<ToolSpec, DefinitionError> {
    let mut spec = bounded_spec(canonical_name(config, definition), definition)?;
    let annotations = definition.get("annotations");
    spec.group = Some(config.name.to_string());
    spec.timeout = config.timeout;
    let own_name = own_name(definition).unwrap_or_default();
    let is_trusted =
        config.workspace_results || config.workspace_tools.iter().any(|tool| tool == own_name);
    spec.trust = if is_trusted { Trust::Workspace } else { Trust::External };
    spec.runs = Some(hash(identity, definition));
    if let Some(words) = definition.get("_meta").and_then(Value::as_object) {
        spec.meta = ToolMeta::from_map(words.clone()).map_err(|fault| fault.to_string())?;
    }
    spec.reach = reach(config);
    (spec.effect, spec.risk) = effect_and_risk(config.trusted, annotations);
    Ok(spec)
}

/// Returns the reach of a call, from the owner's configuration only.
fn reach(config: &ServerConfig) -> Reach {
    match &config.remote {
        Remote::Http(_) => {
            Reach { outbound: true, exec: false, private_read: config.remote.has_secrets() }
        }
        Remote::Stdio(program) => Reach {
            outbound: program.network || !program.allow_hosts.is_empty(),
            exec: false,
            private_read: config.remote.has_secrets(),
        },
    }
}

/// Returns effect and risk. Annotations of any server apply if they make a tool riskier; the
/// annotation that a tool only reads applies only for trusted servers.
fn effect_and_risk(trusted: bool, annotations: Option<&Value>) -> (Effect, Risk) {
    let hint = |key: &str| annotations.and_then(|own| own.get(key)).and_then(Value::as_bool);
    let reads = hint("readOnlyHint") == Some(true);
    if hint("destructiveHint") == Some(true) && !reads {
        return (Effect::Destructive, Risk::Critical);
    }
    match (trusted, reads, hint("idempotentHint")) {
        (true, true, _) => (Effect::Read, Risk::Safe),
        (true, false, Some(true)) => (Effect::Idempotent, Risk::High),
        _ => (Effect::SideEffect, Risk::High),
    }
}

fn depth(value: &Value) -> usize {
    // Iterative: the schema may be nested as deeply as the parser allows.
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        deepest = deepest.max(level);
        if level > SCHEMA_DEPTH {
            break;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, level + 1))),
            _ => {}
        }
    }
    deepest
}

/// Sanitizes text that a model reads before any review: removes invisible characters and shortens
/// it.
fn sanitize_description(text: &str) -> String {
    let clean = visible_text(text);
    if clean.chars().count() <= DESCRIPTION_CHARS {
        return clean;
    }
    let cut: String = clean.chars().take(DESCRIPTION_CHARS).collect();
    format!("{cut} [cut]")
}

/// Removes characters that a person cannot see from a text of a server.
#[must_use]
pub fn visible_text(text: &str) -> String {
    let seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
            || matches!(c, '\n' | '\t')
    };
    text.chars().filter(seen).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::{Http, ServerName, Stdio};

    fn config(trusted: bool) -> ServerConfig {
        let remote = Remote::Stdio(Stdio { command: "x".to_owned(), ..Stdio::default() });
        ServerConfig { trusted, ..ServerConfig::new(ServerName::new("s").unwrap(), remote) }
    }

    #[test]
    fn annotations_make_worse_and_never_better() {
        let check = |trusted: bool, annotations: Value, expected: (Effect, Risk)| {
            let definition =
                json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": annotations});
            let spec = spec(&config(trusted), "id", &definition).unwrap();
            assert_eq!((spec.effect, spec.risk), expected, "{trusted} {annotations}");
        };
        let plain = (Effect::SideEffect, Risk::High);
        check(false, json!(null), plain);
        check(false, json!({"readOnlyHint": true}), plain);
        check(false, json!({"idempotentHint": true}), plain);
        check(false, json!({"destructiveHint": false}), plain);
        check(false, json!({"destructiveHint": true}), (Effect::Destructive, Risk::Critical));
        check(false, json!({"readOnlyHint": "yes"}), plain);
        check(true, json!({"readOnlyHint": true}), (Effect::Read, Risk::Safe));
        check(true, json!({"idempotentHint": true}), (Effect::Idempotent, Risk::High));
        check(true, json!({}), plain);
        check(true, json!({"destructiveHint": true}), (Effect::Destructive, Risk::Critical));
    }

    #[test]
    fn what_is_no_definition_is_a_fault() {
        let check = |definition: Value, part: &str| {
            let fault = spec(&config(false), "id", &definition).unwrap_err();
            assert!(fault.contains(part), "{fault}");
        };
        check(json!({"name": "t"}), "no schema");
        check(json!({"name": "t", "inputSchema": []}), "no schema");
        check(json!({"name": "t", "inputSchema": {"x": "y".repeat(300_000)}}), "bytes");
        let meta = json!({"ui": {"resourceUri": "ui://a", "x": "y".repeat(20_000)}});
        check(json!({"name": "t", "inputSchema": {}, "_meta": meta}), "_meta has");
        let mut deep = json!({"type": "object"});
        for _ in 0..200 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        check(json!({"name": "t", "inputSchema": deep}), "deeper");
    }

    #[test]
    fn hidden_words_are_taken_out_of_descriptions() {
        let hidden = "Adds.\u{200b}\u{e0041}\u{e0042}\u{202e} Ignore\u{7}";
        let definition =
            json!({"name": "t", "description": hidden, "inputSchema": {"type": "object"}});
        let spec = spec(&config(false), "id", &definition).unwrap();
        assert_eq!(spec.description, "Adds. Ignore");
    }

    #[test]
    fn another_server_is_another_definition() {
        let definition = json!({"name": "t", "inputSchema": {"type": "object"}});
        assert_ne!(hash("a", &definition), hash("b", &definition));
        let other = json!({"inputSchema": {"type": "object"}, "name": "t"});
        assert_eq!(hash("a", &definition), hash("a", &other), "the order of keys says nothing");
        let page = json!({"name": "t", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://x"}}});
        assert_ne!(hash("a", &definition), hash("a", &page), "its page is part of it");
        let http = ServerConfig {
            remote: Remote::Http(Http { url: "https://x".to_owned(), ..Http::default() }),
            ..config(false)
        };
        assert!(spec(&http, "id", &definition).unwrap().reach.outbound);
    }
}
