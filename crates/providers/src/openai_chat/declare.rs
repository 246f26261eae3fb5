//! `tools[]` of Chat Completions.

use serde_json::Value;

use crate::declare::object;
use crate::import::{ImportError, Imported};

/// Characters of a function's description that OpenAI takes.
pub(crate) fn description_limit() -> usize {
    1024
}

/// `strict` is sent only when it is on: compatible servers refuse members that they do not know.
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
