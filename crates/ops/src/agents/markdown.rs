//! An agent as the text of its file.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_agent::library::{Agent, AgentPreset, DEFAULT_ROLE};

use super::agent::limits_json;

/// Renders an agent as a Markdown file: the values that differ from the defaults, then its prompt.
/// Name and title are omitted: they depend on the file, and two agents with the same title could
/// not be told apart. Every value is written as JSON, which is also YAML, so that no value is
/// misinterpreted.
pub(super) fn to_markdown(agent: &Agent) -> String {
    let mut text = "---\n".to_owned();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            let _ = writeln!(text, "{key}: {value}");
        }
    };
    put("description", json!(Some(&agent.description).filter(|text| !text.is_empty())));
    put("model", json!(agent.model.as_ref().map(ToString::to_string)));
    put("tools", json!(agent.tools));
    put("skills", json!(Some(&agent.skills).filter(|skills| !skills.is_empty())));
    put("role", json!(Some(&agent.role).filter(|role| *role != DEFAULT_ROLE)));
    put("mode", json!(agent.preset.map(AgentPreset::as_str)));
    put("temperature", json!(agent.temperature));
    put("max_output", json!(agent.max_output));
    if let Value::Object(mut limits) = limits_json(&agent.limits) {
        limits.retain(|_, value| !value.is_null());
        if !limits.is_empty() {
            put("limits", Value::Object(limits));
        }
    }
    text + "---\n\n" + agent.prompt.trim() + "\n"
}
