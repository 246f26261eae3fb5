//! Tool profile: the texts of a tool that the search indexes.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolcrib_core::ToolSpec;

/// Maximum number of parameters: as many as in the model's training.
pub(crate) const MAX_PARAMETERS: usize = 15;

/// The indexed texts of a tool. Every text is truncated to a maximum length, so that the cost of an
/// untrusted profile is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ToolProfile {
    /// Name as callers write it.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Server, app or group; empty if none.
    #[serde(deserialize_with = "or_default")]
    pub server: String,
    /// Description.
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    /// Parameters; the first 15 are indexed.
    #[serde(deserialize_with = "or_default")]
    pub parameters: Vec<Parameter>,
    /// How and when to use it.
    #[serde(deserialize_with = "or_default")]
    pub guide: String,
    /// Phrases in which people ask for it; the first 16 are indexed.
    #[serde(deserialize_with = "or_default")]
    pub examples: Vec<String>,
    /// Other names.
    #[serde(deserialize_with = "or_default")]
    pub aliases: Vec<String>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Parameter {
    /// Name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Description.
    #[serde(deserialize_with = "or_default")]
    pub description: String,
}

/// Reads `null` as the default, because tool lists from other programs contain both.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl From<&ToolSpec> for ToolProfile {
    /// Splits a name `server__tool` into server and tool; other tools use their group as server.
    fn from(spec: &ToolSpec) -> Self {
        let name = spec.name.as_str();
        let (server, name) = match name.split_once("__") {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (server, tool),
            _ => (spec.group.as_deref().unwrap_or_default(), name),
        };
        Self {
            name: name.to_owned(),
            server: server.to_owned(),
            description: spec.description.clone(),
            parameters: parameters(&spec.input_schema),
            guide: String::new(),
            examples: spec
                .examples
                .iter()
                .map(|example| &example.need)
                .chain(&spec.needs)
                .cloned()
                .collect(),
            aliases: [&[spec.name.as_str().to_owned()], spec.aliases.as_slice()].concat(),
        }
    }
}

/// Returns the properties of an object schema.
fn parameters(schema: &Value) -> Vec<Parameter> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let described = properties.into_iter().flatten().take(MAX_PARAMETERS).map(|(name, about)| {
        let description = about.get("description").and_then(Value::as_str).unwrap_or_default();
        Parameter { name: name.clone(), description: description.to_owned() }
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::{ToolName, remote_name};

    use super::*;

    #[test]
    fn a_spec_is_a_profile() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "Where it is."}, "raw": true}});
        let mut spec = ToolSpec::new(remote_name("github", "get_issue"), "Reads an issue.", schema);
        spec.aliases = vec!["issue".to_owned()];
        let profile = ToolProfile::from(&spec);
        assert_eq!((profile.server.as_str(), profile.name.as_str()), ("github", "get_issue"));
        assert_eq!(profile.aliases, ["github__get_issue", "issue"]);
        assert_eq!(profile.parameters.len(), 2);
        assert_eq!(profile.parameters[0].description, "Where it is.");

        let mut spec = ToolSpec::new(ToolName::local("read_file").unwrap(), "", json!(null));
        spec.group = Some("files".to_owned());
        let profile = ToolProfile::from(&spec);
        assert_eq!((profile.server.as_str(), profile.name.as_str()), ("files", "read_file"));
    }

    #[test]
    fn nulls_in_a_tool_list_are_nothing() {
        let profile: ToolProfile = serde_json::from_value(json!({
            "type": "tool", "name": "a", "server": null, "description": null, "parameters": [{"name": "x", "description": null}]
        }))
        .unwrap();
        assert_eq!(
            profile.parameters,
            [Parameter { name: "x".to_owned(), ..Parameter::default() }]
        );
        assert_eq!(profile.description, "");
    }
}
