//! What is read under an address: of a server of somebody else, or of ours.

use serde_json::{Map, Value};

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Its media type.
    pub media_type: Option<String>,
    /// Text, or bytes.
    pub body: Body,
    /// What its maker says of it to programs, such as what a page may reach; empty = nothing.
    pub meta: Map<String, Value>,
}

/// Text, or bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Contents {
    /// A text of this media type.
    #[must_use]
    pub fn text(media_type: impl Into<String>, text: impl Into<String>) -> Self {
        let (media_type, body) = (Some(media_type.into()), Body::Text(text.into()));
        Self { media_type, body, meta: Map::new() }
    }
}

impl Body {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
