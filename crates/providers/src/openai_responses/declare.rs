//! `tools[]` of Responses: flat, and with `strict` always there, because leaving it out means "try".

use serde_json::{Value, json};

use crate::import::{ImportError, Imported};

pub(crate) fn tool(name: &str, description: &str, schema: &Value, strict: bool) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": schema,
        "strict": strict,
    })
}

pub(crate) fn read_tool(tool: &Value) -> Option<Result<Imported, ImportError>> {
    if tool.get("type").is_none_or(|kind| kind != "function") {
        return None;
    }
    let strict = tool.get("strict").is_some_and(|s| *s == Value::Bool(true));
    let (name, description) = (tool.get("name"), tool.get("description"));
    Some(Imported::from_parts(name, description, tool.get("parameters"), strict))
}
