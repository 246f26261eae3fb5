//! The tools that an app offers, in the form in which reviews compare them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toolcrib_core::{Effect, Reach, Risk, ToolSpec, Trust, remote_name};
use toolcrib_mcp::client::{ReviewedTools, bounded_spec};

use super::model::tool_prefix;

/// Maximum tools of one app.
const MOST: usize = 64;
/// Maximum characters of a tool's name.
const NAME_CHARS: usize = 40;
/// Maximum bytes of all definitions.
const LIST_BYTES: usize = 256 * 1024;

/// A tool of an app.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    /// Its name at the app.
    pub name: String,
    /// Its definition, in the form of MCP with the proposed risk.
    pub definition: Value,
    /// The risk that the app proposes.
    pub proposed: Risk,
}

impl Capability {
    /// Reads the answer of `/capabilities`: an array of tools.
    ///
    /// # Errors
    /// Why the answer is not valid, as a sentence fragment that names the tool.
    pub fn parse_all(list: &Value) -> Result<Vec<Self>, String> {
        let tools = list.as_array().ok_or("the capabilities are not an array")?;
        if tools.is_empty() || tools.len() > MOST {
            return Err(format!("an app has 1 to {MOST} tools"));
        }
        if list.to_string().len() > LIST_BYTES {
            return Err(format!("the capabilities have more than {} KB", LIST_BYTES >> 10));
        }
        let mut names = BTreeSet::new();
        let mut all = Vec::new();
        for (number, tool) in tools.iter().enumerate() {
            let one = Self::parse(tool).map_err(|why| format!("capabilities[{number}]: {why}"))?;
            if !names.insert(one.name.clone()) {
                return Err(format!("two tools have the name {}", one.name));
            }
            all.push(one);
        }
        Ok(all)
    }

    fn parse(tool: &Value) -> Result<Self, String> {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(plain) {
            return Err(format!("`name` has 1 to {NAME_CHARS} of a-z, A-Z, 0-9 and `_`"));
        }
        if text("description").trim().is_empty() {
            return Err(format!("the tool {name} has no description"));
        }
        let proposed = match tool.get("risk") {
            None | Some(Value::Null) => Risk::High,
            Some(risk) => serde_json::from_value(risk.clone())
                .map_err(|_| format!("the risk of {name} is safe, high or critical"))?,
        };
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(name));
        if !text("title").is_empty() {
            definition.insert("title".to_owned(), json!(text("title")));
        }
        let about = match text("documentation") {
            "" => text("description").to_owned(),
            more => format!("{}\n\n{more}", text("description")),
        };
        definition.insert("description".to_owned(), json!(about));
        definition.insert("inputSchema".to_owned(), parameters(name, tool)?);
        if let Some(returns) = tool.get("returns").filter(|returns| returns.is_object()) {
            definition.insert("outputSchema".to_owned(), returns.clone());
        }
        definition.insert("risk".to_owned(), json!(proposed));
        let definition = Value::Object(definition);
        bounded_spec(remote_name("if", name), &definition)
            .map_err(|why| format!("the tool {name}: {why}"))?;
        Ok(Self { name: name.to_owned(), definition, proposed })
    }
}

/// Returns the schema of the arguments: a JSON schema, or one of a list of parameters.
fn parameters(tool: &str, definition: &Value) -> Result<Value, String> {
    match definition.get("parameters") {
        None | Some(Value::Null) => Ok(json!({"type": "object", "properties": {}})),
        Some(schema @ Value::Object(_)) => Ok(schema.clone()),
        Some(Value::Array(list)) => {
            let (mut properties, mut required) = (Map::new(), Vec::new());
            for parameter in list {
                let text = |key: &str| parameter.get(key).and_then(Value::as_str);
                let name = text("name").ok_or(format!("a parameter of {tool} has no name"))?;
                let kind = text("type").unwrap_or("string");
                if !matches!(kind, "string" | "number" | "boolean" | "object") {
                    return Err(format!(
                        "the type of {tool}.{name} is string, number, boolean or object"
                    ));
                }
                let about = text("description").unwrap_or_default();
                properties.insert(name.to_owned(), json!({"type": kind, "description": about}));
                if parameter.get("required") == Some(&Value::Bool(true)) {
                    required.push(name);
                }
            }
            Ok(json!({"type": "object", "properties": properties, "required": required}))
        }
        Some(_) => Err(format!("`parameters` of {tool} is a JSON schema or a list")),
    }
}

/// Returns definitions as reviews compare them. Address and key are the identity: a program at
/// another address, or with another key, is another one.
pub(crate) fn as_reviewed(
    address: &str,
    fingerprint: &str,
    definitions: &[Value],
) -> ReviewedTools {
    ReviewedTools::from_definitions(format!("{address} {fingerprint}"), definitions)
}

/// Returns the risk of a tool that the owner has not chosen one for: a proposal can only raise it.
#[must_use]
pub fn default_risk(definition: &Value) -> Risk {
    let proposed = definition.get("risk").cloned().unwrap_or_default();
    serde_json::from_value(proposed).unwrap_or(Risk::High).max(Risk::High)
}

/// Converts a reviewed definition.
pub(crate) fn spec(app: &str, definition: &Value, risk: Risk) -> Result<ToolSpec, String> {
    let own = definition.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut spec = bounded_spec(remote_name(&tool_prefix(app), own), definition)?;
    spec.group = Some(tool_prefix(app));
    spec.trust = Trust::External;
    // The app may hold data of the person, and what it does with the arguments is not known.
    spec.reach = Reach { outbound: true, exec: false, private_read: true };
    spec.risk = risk;
    spec.effect = match risk {
        Risk::Safe => Effect::Read,
        Risk::High => Effect::SideEffect,
        Risk::Critical => Effect::Destructive,
    };
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_parameters_become_schemas() {
        let list = json!([{"name": "add", "description": "Adds.", "risk": "safe", "parameters": [
            {"name": "a", "type": "number", "required": true, "description": "First."},
            {"name": "note"},
        ]}]);
        let all = Capability::parse_all(&list).unwrap();
        let schema = &all[0].definition["inputSchema"];
        assert_eq!(schema["properties"]["a"]["type"], "number");
        assert_eq!(schema["required"], json!(["a"]));
        assert_eq!(all[0].proposed, Risk::Safe);
        assert_eq!(default_risk(&all[0].definition), Risk::High, "a proposal lowers nothing");
        let spec = spec("office", &all[0].definition, Risk::Safe).unwrap();
        assert_eq!(spec.name.as_str(), "if_office__add");
        assert_eq!(
            (spec.risk, spec.effect, spec.trust),
            (Risk::Safe, Effect::Read, Trust::External)
        );
    }

    #[test]
    fn damaged_definitions_are_named() {
        let mut deep = json!({"type": "object"});
        for _ in 0..100 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        for (list, part) in [
            (json!({}), "not an array"),
            (json!([]), "1 to 64"),
            (json!([{"name": "a b", "description": "x"}]), "capabilities[0]"),
            (json!([{"name": "a"}]), "no description"),
            (json!([{"name": "a", "description": "x", "risk": "none"}]), "safe, high or critical"),
            (json!([{"name": "a", "description": "x", "parameters": 1}]), "JSON schema or a list"),
            (json!([{"name": "a", "description": "x", "parameters": deep}]), "deeper"),
            (
                json!([{"name": "a", "description": "x"}, {"name": "a", "description": "y"}]),
                "two tools",
            ),
            (json!([{"name": "a", "description": "x".repeat(300_000)}]), "more than"),
        ] {
            let why = Capability::parse_all(&list).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
