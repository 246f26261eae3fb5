//! Tool declarations (`tools[]`) of OpenAI Responses: flat, and always with `strict`, because
//! omitting it means "try".

use serde_json::Value;

use crate::imported_tool::{ImportError, Imported};
use crate::json_object::object;

pub(crate) fn tool(name: &str, description: String, schema: Value, strict: bool) -> Value {
    object([
        ("type", "function".into()),
        ("name", name.into()),
        ("description", description.into()),
        ("parameters", schema),
        ("strict", strict.into()),
    ])
    .into()
}

pub(crate) fn read_tool(tool: &Value) -> Option<Result<Imported, ImportError>> {
    if tool.get("type").is_none_or(|kind| kind != "function") {
        return None;
    }
    let strict = tool.get("strict").is_some_and(|s| *s == Value::Bool(true));
    let (name, description) = (tool.get("name"), tool.get("description"));
    Some(Imported::from_parts(name, description, tool.get("parameters"), strict))
}
