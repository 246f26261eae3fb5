//! Patterns of model names: `*` matches any text, ignoring case.

use serde::Deserialize;
use toolcrib_core::tool_pattern::glob_matches;

/// A pattern; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ModelPattern(String);

/// The pattern is blank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a pattern for models cannot be empty")]
pub(crate) struct EmptyPattern;

impl TryFrom<String> for ModelPattern {
    type Error = EmptyPattern;

    fn try_from(text: String) -> Result<Self, EmptyPattern> {
        let text = text.trim().to_lowercase();
        if text.is_empty() { Err(EmptyPattern) } else { Ok(Self(text)) }
    }
}

impl ModelPattern {
    /// Returns whether it matches this name, which is in lower case.
    pub(crate) fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }

    /// Returns the pattern, in lower case.
    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The names by which a model is looked up, in lower case.
pub(crate) struct ModelNames {
    /// `provider/model`.
    full: String,
    model_at: usize,
}

impl ModelNames {
    pub(crate) fn new(provider: &str, model: &str) -> Self {
        let provider = provider.to_lowercase();
        let model_at = provider.len() + 1;
        Self { full: format!("{provider}/{}", model.to_lowercase()), model_at }
    }

    /// Returns the model's name.
    pub(crate) fn model(&self) -> &str {
        self.full.get(self.model_at..).unwrap_or_default()
    }

    /// Returns whether a pattern matches the model, the part after its last slash, or
    /// `provider/model`.
    pub(crate) fn any_match(&self, pattern: &ModelPattern) -> bool {
        let model = self.model();
        pattern.matches(model)
            || model.rsplit_once('/').is_some_and(|(_, tail)| pattern.matches(tail))
            || pattern.matches(&self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, provider, model, expected) in [
            ("*", "p", "anything", true),
            ("claude-opus-5*", "anthropic", "claude-opus-5-5", true),
            ("Claude-Opus-5*", "anthropic", "CLAUDE-opus-5", true),
            ("claude-opus-5", "anthropic", "claude-opus-5-5", false),
            ("claude-opus-5*", "router", "anthropic/claude-opus-5", true),
            ("gemini-2.5*", "gemini", "models/gemini-2.5-pro", true),
            ("ollama/*", "ollama", "qwen3:8b", true),
            ("ollama/*", "other", "qwen3:8b", false),
            ("*:1b*", "ollama", "gemma3:1b-it", true),
            ("*:1b*", "ollama", "gemma3:11b", false),
            ("a*a", "p", "a", false),
            ("gpt-5", "openai", "gpt-5-mini", false),
        ] {
            let parsed = ModelPattern::try_from(pattern.to_owned()).unwrap();
            assert_eq!(
                ModelNames::new(provider, model).any_match(&parsed),
                expected,
                "{pattern} {model}"
            );
        }
        assert_eq!(ModelPattern::try_from("  ".to_owned()), Err(EmptyPattern));
    }
}
