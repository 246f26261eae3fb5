//! Imports tool declarations: converts a provider's declarations back to definitions, the inverse
//! of `declare`.

use serde_json::Value;

use crate::imported_tool::{ImportError, Imported};
use crate::wire_format::Format;
use crate::{anthropic, gemini, openai_chat, openai_responses, schema, text_tools};

/// Reads the functions of a request's `tools` (or of a text prompt). Skips declarations of other
/// kinds, such as hosted tools.
///
/// # Errors
/// [`ImportError`] if the value is not such a list, or if a function has no name.
pub fn import(format: Format, tools: &Value) -> Result<Vec<Imported>, ImportError> {
    if tools.is_null() {
        return Ok(Vec::new());
    }
    if format == Format::Text {
        let prompt = tools.as_str().ok_or_else(|| ImportError("no prompt text".to_owned()))?;
        return text_tools::import_tools(prompt);
    }
    let list = tools.as_array().ok_or_else(|| ImportError("no array".to_owned()))?;
    let mut found = Vec::new();
    for tool in list {
        match format {
            Format::OpenAiChat => found.extend(openai_chat::read_tool(tool)),
            Format::OpenAiResponses => found.extend(openai_responses::read_tool(tool)),
            Format::Anthropic => found.extend(anthropic::read_tool(tool)),
            Format::Gemini => found.extend(gemini::read_tools(tool)),
            Format::Text => {}
        }
    }
    found
        .into_iter()
        .map(|tool: Result<Imported, ImportError>| {
            let mut tool = tool?;
            match format {
                Format::Gemini => tool.schema = schema::from_gemini(&tool.schema),
                Format::OpenAiChat | Format::OpenAiResponses if tool.strict => {
                    schema::from_strict(&mut tool.schema);
                }
                _ => {}
            }
            Ok(tool)
        })
        .collect()
}
