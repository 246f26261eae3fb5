//! Rules for texts in blocks: bounded, and without invisible characters.

use serde_json::Value;
use toolcrib_core::display_text::{escape_controls, escape_to_line};

use super::decode::CardError;

/// Maximum characters of a line, such as a label or a cell.
const MAX_LINE: usize = 300;
/// Maximum characters of a text with several lines.
const MAX_TEXT: usize = 4_000;
/// Keys whose texts may have several lines.
const TEXTS: [&str; 1] = ["text"];

/// Sanitizes every text of a block for people, in place. `path` names the block.
pub(super) fn apply(value: &mut Value, path: &str) -> Result<(), CardError> {
    visit(value, path, "")
}

fn visit(value: &mut Value, path: &str, key: &str) -> Result<(), CardError> {
    match value {
        Value::String(text) => {
            let is_text = TEXTS.contains(&key);
            let (most, chars) = (if is_text { MAX_TEXT } else { MAX_LINE }, text.chars().count());
            if chars > most {
                let text = format!("it has {chars} characters; at most {most}");
                return Err(CardError::at(path, text));
            }
            *text = if is_text { escape_controls(text).into_owned() } else { escape_to_line(text) };
        }
        Value::Array(items) => {
            for (number, item) in items.iter_mut().enumerate() {
                visit(item, &format!("{path}[{number}]"), key)?;
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                visit(item, &format!("{path}.{key}"), key)?;
            }
        }
        _ => {}
    }
    Ok(())
}
