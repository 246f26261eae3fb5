//! Contents of a resource, remote or our own.

use serde_json::{Map, Value};

/// Media type of an MCP Apps page (SEP-1865).
pub const PAGE_TYPE: &str = "text/html;profile=mcp-app";

/// The MCP Apps extension (SEP-1865), with which clients declare that they show such pages.
pub(crate) const PAGES_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// Contents of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Its media type.
    pub media_type: Option<String>,
    /// Text or bytes.
    pub body: ResourceBody,
    /// Metadata for programs, such as the origins that a page may use.
    pub meta: Map<String, Value>,
}

/// Text or bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Contents {
    /// Creates text of this media type.
    #[must_use]
    pub fn text(media_type: impl Into<String>, text: impl Into<String>) -> Self {
        let (media_type, body) = (Some(media_type.into()), ResourceBody::Text(text.into()));
        Self { media_type, body, meta: Map::new() }
    }
}

impl ResourceBody {
    /// Returns the size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
