//! `tools[]` of Messages.

use serde_json::Value;

use crate::declare::object;
use crate::import::{ImportError, Imported};

/// Strict tools that Anthropic takes in one request (research/protocols 2.3).
pub(crate) const MAX_STRICT_TOOLS: usize = 20;

pub(crate) fn tool(name: &str, description: String, schema: Value, strict: bool) -> Value {
    let mut tool = object([
        ("name", name.into()),
        ("description", description.into()),
        ("input_schema", schema),
    ]);
    if strict {
        tool.insert("strict".to_owned(), true.into());
    }
    tool.into()
}

pub(crate) fn read_tool(tool: &Value) -> Option<Result<Imported, ImportError>> {
    let schema = tool.get("input_schema")?;
    let strict = tool.get("strict").is_some_and(|s| *s == Value::Bool(true));
    Some(Imported::from_parts(tool.get("name"), tool.get("description"), Some(schema), strict))
}
