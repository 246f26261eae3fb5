//! `functionDeclarations[]` of Gemini.

use serde_json::{Value, json};

use crate::import::{ImportError, Imported};

/// A function without parameters has no `parameters`: an object without properties is refused.
pub(crate) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let mut tool = json!({"name": name, "description": description});
    if let (false, Some(object)) = (schema.is_null(), tool.as_object_mut()) {
        object.insert("parameters".to_owned(), schema.clone());
    }
    tool
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
