//! What a tool returns.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::ArtifactRef;

/// Where the words of a result come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The tool's own words.
    Tool,
    /// Text of the person's own workspace.
    Workspace,
    /// Text from outside: anybody may have written it.
    External,
}

/// Bytes with their type.
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
    /// Text with its media type, which says how it is decoded before a model reads it.
    Text {
        /// The text.
        text: String,
        /// Media type, `text/plain` for most.
        media_type: String,
    },
    /// A picture.
    Image(Blob),
    /// A sound.
    Audio(Blob),
    /// Something that has an address.
    Resource {
        /// The address.
        uri: String,
        /// Media type, when known.
        media_type: Option<String>,
        /// Its text, when it has one.
        text: Option<String>,
    },
    /// A card for people; models never see it.
    Html {
        /// An HTML fragment.
        html: String,
    },
    /// A stored result, by reference.
    Artifact(ArtifactRef),
    /// A large text of which only both ends are here; the whole is the artifact.
    Spilled {
        /// Both ends, with a marker between them.
        preview: String,
        /// Media type of the whole.
        media_type: String,
        /// Bytes that the tool produced.
        total_bytes: u64,
        /// The whole, or its first 256 MB.
        artifact: Option<ArtifactRef>,
    },
}

impl Block {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), media_type: "text/plain".to_owned() }
    }
}

/// The result of a tool that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The parts, in order.
    pub content: Vec<Block>,
    /// The same as data, for programs, chains and output schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether the tool ran and reports a failure in its own words (MCP's `isError`).
    #[serde(default)]
    pub is_error: bool,
    /// Whose words these are; `None` = as the specification says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Where they come from, for the envelope: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl ToolOutput {
    /// One plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(vec![Block::text(text)])
    }

    /// One text of a media type.
    pub fn typed(text: impl Into<String>, media_type: impl Into<String>) -> Self {
        Self::of(vec![Block::Text { text: text.into(), media_type: media_type.into() }])
    }

    /// Data; a model reads it as JSON.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value), ..Self::of(Vec::new()) }
    }

    /// These parts.
    #[must_use]
    pub fn of(content: Vec<Block>) -> Self {
        Self { content, structured: None, is_error: false, trust: None, source: None }
    }

    /// The same, with whose words these are and where they come from.
    #[must_use]
    pub fn from(mut self, trust: Trust, source: impl Into<String>) -> Self {
        self.trust = Some(trust);
        self.source = Some(source.into());
        self
    }

    /// The same with data beside the text.
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
