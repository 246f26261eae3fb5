//! Tool declarations (`tools[]`) of Anthropic Messages.

use serde_json::Value;

use crate::imported_tool::{ImportError, Imported};
use crate::json_object::object;

/// Limit of strict tools in one Anthropic request.
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
