//! Tool output: content blocks, structured data and trust level.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::ArtifactRef;
use crate::error::ErrorType;
use crate::trust::Trust;

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Media type such as `image/png`.
    pub media_type: String,
    /// The bytes, base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
}

/// One part of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text with its media type, which decides how it is decoded before a model reads it.
    Text {
        /// The text.
        text: String,
        /// Media type, usually `text/plain`.
        media_type: String,
    },
    /// An image.
    Image(Blob),
    /// An audio clip.
    Audio(Blob),
    /// A resource with a URI.
    Resource {
        /// The URI.
        uri: String,
        /// Media type, if known.
        media_type: Option<String>,
        /// Its text, if included.
        text: Option<String>,
    },
    /// An HTML card for people; models never see it. The engine rewrites it from an allow-list
    /// before it is stored.
    Html {
        /// An HTML fragment.
        html: String,
    },
    /// Blocks for people (`rich_render`), already checked; models never see them.
    Card {
        /// `{blocks, untrusted?}`.
        card: Value,
    },
    /// A stored result, by reference.
    Artifact(ArtifactRef),
    /// The beginning and the end of a large text; the artifact contains the complete text.
    Spilled {
        /// Beginning and end, with a marker between them.
        preview: String,
        /// Media type of the whole text.
        media_type: String,
        /// Bytes that the tool produced.
        total_bytes: u64,
        /// The whole text, or its first 256 MB.
        artifact: Option<ArtifactRef>,
    },
}

impl Block {
    /// Creates a plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), media_type: "text/plain".to_owned() }
    }
}

/// The result of a tool that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The content blocks, in order.
    pub content: Vec<Block>,
    /// The result as data, for programs, chains and output schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the tool ran and reports a failure itself (`isError` of MCP).
    #[serde(default)]
    pub is_error: bool,
    /// The type of that failure; `None` means `execution_error`. Without `is_error` it has no
    /// meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// Trust level of the text; `None` means the level that the tool's specification declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Source of the text: a path or an address. It becomes part of the result that models read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Isolation level of the program that the tool ran, such as `namespaces` or `none`, if the
    /// result itself does not include it; `None` if the tool ran no program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

impl ToolOutput {
    /// Creates output of one plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from_blocks(vec![Block::text(text)])
    }

    /// Creates output of one text block with this media type.
    pub fn text_with_type(text: impl Into<String>, media_type: impl Into<String>) -> Self {
        Self::from_blocks(vec![Block::Text { text: text.into(), media_type: media_type.into() }])
    }

    /// Creates structured output; a model reads it as JSON.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value), ..Self::from_blocks(Vec::new()) }
    }

    /// Creates output of these blocks.
    #[must_use]
    pub fn from_blocks(content: Vec<Block>) -> Self {
        Self {
            content,
            structured: None,
            is_error: false,
            error_type: None,
            trust: None,
            source: None,
            sandbox: None,
        }
    }

    /// Sets the trust level and the source of the text.
    #[must_use]
    pub fn with_origin(mut self, trust: Trust, source: impl Into<String>) -> Self {
        self.trust = Some(trust);
        self.source = Some(source.into());
        self
    }

    /// Marks the output as that of a failure of this type; the output that the tool produced before
    /// the failure stays readable.
    #[must_use]
    pub fn failed_with(mut self, error_type: ErrorType) -> Self {
        self.is_error = true;
        self.error_type = Some(error_type);
        self
    }

    /// Sets the isolation level of the program that the tool ran.
    #[must_use]
    pub fn with_sandbox(mut self, level: impl Into<String>) -> Self {
        self.sandbox = Some(level.into());
        self
    }

    /// Adds structured data next to the text.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }
}

mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(d)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}
