//! Imported tools: definitions parsed from a provider's declarations.

use serde::Serialize;
use serde_json::{Value, json};

/// A tool parsed from a provider's declarations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Imported {
    /// Its name on the wire.
    pub name: String,
    /// Its description.
    pub description: String,
    /// JSON Schema of its arguments, with the changes of strict mode or of Gemini's subset undone.
    pub schema: Value,
    /// Whether it was declared strict.
    pub strict: bool,
}

/// The value is not a list of declarations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a list of tool declarations: {0}")]
pub struct ImportError(pub(crate) String);

impl Imported {
    pub(crate) fn from_parts(
        name: Option<&Value>,
        description: Option<&Value>,
        schema: Option<&Value>,
        strict: bool,
    ) -> Result<Self, ImportError> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = text(name).ok_or_else(|| ImportError("a function has no name".to_owned()))?;
        let schema = schema.filter(|s| !s.is_null()).cloned();
        Ok(Self {
            name,
            description: text(description).unwrap_or_default(),
            schema: schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
            strict,
        })
    }
}
