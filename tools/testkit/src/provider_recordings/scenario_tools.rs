//! The tools of the scenarios, with the answers they always give.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_core::{Blob, Block, ErrorType, ToolError, ToolOutput};

use super::file_format::{ReadError, read};
use crate::ScriptedTool;

/// A file of tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Tools(BTreeMap<String, CannedTool>);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CannedTool {
    about: String,
    /// JSON Schema of its arguments.
    takes: Value,
    gives: CannedResult,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CannedResult {
    Text(String),
    Data(Value),
    /// A picture: its media type, and its bytes as hexadecimal digits.
    Image {
        media_type: String,
        hex: String,
    },
    /// It fails with this message.
    Error(String),
}

impl Tools {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read or is not in its form.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let tools: Self = read(path)?;
        let broken = tools.0.iter().find(|(_, canned)| output(&canned.gives).is_none());
        match broken {
            Some((name, _)) => Err(ReadError::new(path, format!("the picture of {name}: no hex"))),
            None => Ok(tools),
        }
    }

    /// Whether there is a tool of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A fresh copy of the tool of this name, which remembers what it ran with.
    #[must_use]
    pub fn make(&self, name: &str) -> Option<Arc<ScriptedTool>> {
        let canned = self.0.get(name)?;
        let tool = ScriptedTool::new(name).takes(canned.takes.clone());
        let tool = tool.spec(|spec| spec.description = canned.about.clone());
        Some(Arc::new(match output(&canned.gives)? {
            Ok(output) => tool.returns(output),
            Err(error) => tool.fails(error),
        }))
    }
}

/// `None` = a picture that cannot be read.
fn output(gives: &CannedResult) -> Option<Result<ToolOutput, ToolError>> {
    Some(match gives {
        CannedResult::Text(text) => Ok(ToolOutput::text(text)),
        CannedResult::Data(data) => Ok(ToolOutput::structured(data.clone())),
        CannedResult::Image { media_type, hex } => {
            let blob = Blob { media_type: media_type.clone(), data: bytes(hex)? };
            Ok(ToolOutput::from_blocks(vec![Block::text("a picture"), Block::Image(blob)]))
        }
        CannedResult::Error(message) => Err(ToolError::new(ErrorType::ExecutionError, message)),
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|c| c.to_digit(16)).collect();
    digits?.chunks(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_hexadecimal() {
        assert_eq!(bytes("00ff10"), Some(vec![0, 255, 16]));
        assert_eq!(bytes("0"), None);
        assert_eq!(bytes("zz"), None);
    }
}
