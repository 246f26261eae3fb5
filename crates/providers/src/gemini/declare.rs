//! Tool declarations (`functionDeclarations[]`) of Gemini.

use serde_json::Value;

use crate::imported_tool::{ImportError, Imported};
use crate::json_object::object;

/// Declares a function. Omits `parameters` if it has none: Gemini rejects an object without
/// properties.
pub(crate) fn tool(name: &str, description: String, schema: Value) -> Value {
    let mut tool = object([("name", name.into()), ("description", description.into())]);
    if !schema.is_null() {
        tool.insert("parameters".to_owned(), schema);
    }
    tool.into()
}

pub(crate) fn read_tools(tool: &Value) -> Vec<Result<Imported, ImportError>> {
    let list = ["functionDeclarations", "function_declarations"]
        .into_iter()
        .find_map(|key| tool.get(key)?.as_array());
    list.into_iter()
        .flatten()
        .map(|f| {
            Imported::from_parts(f.get("name"), f.get("description"), f.get("parameters"), false)
        })
        .collect()
}
