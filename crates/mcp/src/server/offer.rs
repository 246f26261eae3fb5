//! Our tools as a client reads them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use toolcrib_core::{Effect, ToolSpec, View};

use super::{LEAN, Mode};

/// The tool that calls others by their names.
pub(super) const CALL_TOOL: &str = "call_tool";

/// The tools of a view, in its order.
pub(super) fn tools(view: &View, mode: Mode) -> Vec<Tool> {
    let specs = view.tools.iter().map(|entry| entry.spec());
    match mode {
        Mode::Direct => specs.map(|spec| tool(spec)).collect(),
        Mode::Lean => {
            let lean = specs.filter(|spec| LEAN.contains(&spec.name.as_str()));
            lean.map(|spec| tool(spec)).chain([call_tool()]).collect()
        }
    }
}

pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let schema = object(&spec.input_schema);
    let mut tool = Tool::new(spec.name.as_str().to_owned(), spec.description.clone(), schema);
    tool.title = Some(spec.title.clone());
    // Only what is an object has a place in all revisions.
    tool.output_schema = spec.output_schema.as_ref().map(|schema| object(schema).into());
    tool.annotations = Some(
        ToolAnnotations::new()
            .read_only(spec.effect <= Effect::Read)
            .destructive(spec.effect == Effect::Destructive)
            .idempotent(spec.effect.is_repeatable())
            .open_world(spec.reach.outbound),
    );
    tool
}

fn object(schema: &Value) -> JsonObject {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.entry("type").or_insert_with(|| json!("object"));
    object
}

fn call_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name of the tool, as find_tools gave it."},
            "arguments": {"type": "object", "description": "Its arguments, by its own schema."},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let schema: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    let words = "Calls a tool by its name. Find names and schemas with find_tools first.";
    Tool::new(CALL_TOOL, words, Arc::new(schema))
}
