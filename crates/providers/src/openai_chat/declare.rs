//! Tool declarations (`tools[]`) of Chat Completions.

use serde_json::Value;

use crate::imported_tool::{ImportError, Imported};
use crate::json_object::object;

/// Returns the maximum length of a function description that OpenAI accepts, in characters.
pub(crate) fn description_limit() -> usize {
    1024
}

/// Declares a function. Includes `strict` only if it is on: compatible servers reject unknown
/// members.
pub(crate) fn tool(name: &str, description: String, schema: Value, strict: bool) -> Value {
    let mut function = object([
        ("name", name.into()),
        ("description", description.into()),
        ("parameters", schema),
    ]);
    if strict {
        function.insert("strict".to_owned(), true.into());
    }
    object([("type", "function".into()), ("function", function.into())]).into()
}

pub(crate) fn read_tool(tool: &Value) -> Option<Result<Imported, ImportError>> {
    let f = tool.get("function")?;
    let strict = f.get("strict").is_some_and(|s| *s == Value::Bool(true));
    Some(Imported::from_parts(f.get("name"), f.get("description"), f.get("parameters"), strict))
}
