//! The kinds of providers: wire format, default URL, and key variable.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::wire_format::Format;

/// Kind of a provider. The ids are those of `--provider` and of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ProviderKind {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Gemini `generateContent`.
    #[serde(rename = "gemini")]
    Gemini,
    /// Ollama's own `/api/chat`.
    #[serde(rename = "ollama")]
    Ollama,
    /// DeepSeek's Chat Completions.
    #[serde(rename = "deepseek")]
    DeepSeek,
    /// Any other server with Chat Completions: vLLM, llama.cpp, OpenRouter, LM Studio, …
    #[serde(rename = "openai-compatible")]
    OpenAiCompatible,
}

/// The text does not name a kind of provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a provider; {}use one of {}", suggestion(*.near), ids())]
pub struct UnknownProvider {
    /// The text, at most 60 characters.
    pub text: String,
    /// The kind that was probably meant.
    pub near: Option<ProviderKind>,
}

fn suggestion(near: Option<ProviderKind>) -> String {
    near.map(|kind| format!("did you mean {kind}? ")).unwrap_or_default()
}

fn ids() -> String {
    ProviderKind::ALL.map(ProviderKind::as_str).join(", ")
}

impl ProviderKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::DeepSeek,
        Self::OpenAiCompatible,
    ];

    /// Returns the id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::DeepSeek => "deepseek",
            Self::OpenAiCompatible => "openai-compatible",
        }
    }

    /// Returns the wire format.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::OpenAiResponses => Format::OpenAiResponses,
            Self::Anthropic => Format::Anthropic,
            Self::Gemini => Format::Gemini,
            Self::OpenAiChat | Self::Ollama | Self::DeepSeek | Self::OpenAiCompatible => {
                Format::OpenAiChat
            }
        }
    }

    /// Returns the default base URL, the same as in the official SDKs; `None` if one must be
    /// configured.
    #[must_use]
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::DeepSeek => Some("https://api.deepseek.com"),
            Self::OpenAiCompatible => None,
        }
    }

    /// Returns the environment variable of the key; `None` if the key comes from the configuration
    /// only, so that one provider's key never reaches another one's server.
    #[must_use]
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::DeepSeek => Some("DEEPSEEK_API_KEY"),
            Self::Ollama | Self::OpenAiCompatible => None,
        }
    }

    /// Returns whether a streamed answer consists of lines of JSON instead of server-sent events.
    pub(super) fn streams_lines(self) -> bool {
        self == Self::Ollama
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        if let Some(kind) = Self::ALL.into_iter().find(|kind| kind.as_str() == text) {
            return Ok(kind);
        }
        let shown: String = text.chars().take(60).collect();
        let wanted = shown.to_ascii_lowercase();
        let likeness = |kind: Self| strsim::jaro_winkler(kind.as_str(), &wanted);
        let near = Self::ALL.into_iter().max_by(|a, b| likeness(*a).total_cmp(&likeness(*b)));
        Err(UnknownProvider { near: near.filter(|kind| likeness(*kind) > 0.75), text: shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        for kind in ProviderKind::ALL {
            assert_eq!(kind.to_string().parse::<ProviderKind>().unwrap(), kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn near_ids_are_named() {
        for (text, near) in [
            ("openai", Some(ProviderKind::OpenAiChat)),
            ("Anthropic", Some(ProviderKind::Anthropic)),
            ("antropic", Some(ProviderKind::Anthropic)),
            ("olama", Some(ProviderKind::Ollama)),
            ("openai-compat", Some(ProviderKind::OpenAiCompatible)),
            ("deep-seek", Some(ProviderKind::DeepSeek)),
            ("xyz", None),
            ("", None),
        ] {
            let error = text.parse::<ProviderKind>().unwrap_err();
            assert_eq!(error.near, near, "{text}");
            assert!(error.to_string().contains("openai-compatible"), "{error}");
        }
    }
}
