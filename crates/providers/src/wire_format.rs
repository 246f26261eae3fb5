//! The wire formats, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The format in which a provider expects tools, calls and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    /// OpenAI Chat Completions and compatible servers, including Ollama's native `/api/chat`.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Gemini `generateContent` and `streamGenerateContent`.
    #[serde(rename = "gemini")]
    Gemini,
    /// Plain text, for models without function calling.
    #[serde(rename = "text")]
    Text,
}

/// The text does not name a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a format; use one of openai-chat, openai-responses, anthropic, gemini, text"
)]
pub struct UnknownFormat(String);

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Text];

    /// Returns the name, which is also the provider id of [`toolcrib_core::ProviderSpec`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| UnknownFormat(text.chars().take(60).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
        }
        let unknown = "openai".parse::<Format>().unwrap_err().to_string();
        assert!(unknown.contains("openai-chat"), "{unknown}");
    }
}
