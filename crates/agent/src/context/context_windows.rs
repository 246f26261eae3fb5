//! Context windows of models: total tokens, and the limit of an answer.
//!
//! The figures are in `windows.toml`, with their sources; the user's overrides take precedence. A
//! model without a source gets an estimate.

use serde::Deserialize;
use toolcrib_providers::model::ModelInfo;

use super::model_pattern::{ModelNames, ModelPattern};

const BUILTIN: &str = include_str!("windows.toml");

/// Context window of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    /// Tokens of request and answer together.
    pub tokens: u64,
    /// Limit of output tokens, if a source gives it.
    pub max_output: Option<u64>,
    /// Whether the figure is from a source or the user; otherwise it is an estimate.
    pub known: bool,
}

/// An invalid table of models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Not valid TOML, or not of the expected form.
    #[error("table of models: {0}")]
    Unreadable(String),
    /// An empty pattern.
    #[error("a pattern for models cannot be empty")]
    EmptyPattern,
    /// An impossible figure.
    #[error("model \"{0}\": {1}")]
    BadFigure(String, &'static str),
    /// A list without a figure for every other model.
    #[error("table of models: the last entry of \"{0}\" must be for \"*\"")]
    NoFallback(&'static str),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    models: Vec<ModelPattern>,
    tokens: u64,
    max_output: Option<u64>,
    #[serde(default)]
    estimated: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    hosted: Vec<Entry>,
    on_device: Vec<Entry>,
}

/// All known windows, and an estimate for every other model.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextWindows {
    overrides: Vec<(ModelPattern, u64)>,
    table: Table,
}

/// Provider ids whose models run on this device, for callers without a [`ModelInfo`]: servers made
/// for local use.
const ON_DEVICE: [&str; 4] = ["ollama", "llama.cpp", "llamacpp", "lmstudio"];

impl ContextWindows {
    /// Returns the shipped figures.
    ///
    /// # Errors
    /// [`TableError`] if the compiled-in file is invalid, which a test prevents.
    pub fn builtin() -> Result<Self, TableError> {
        Self::parse(BUILTIN)
    }

    fn parse(text: &str) -> Result<Self, TableError> {
        let table: Table =
            toml::from_str(text).map_err(|error| TableError::Unreadable(error.to_string()))?;
        check("hosted", &table.hosted)?;
        check("on_device", &table.on_device)?;
        Ok(Self { overrides: Vec::new(), table })
    }

    /// Adds an override. The pattern is matched against the model's name, against the part after
    /// its last slash, and against `provider/model`; of two that match, the last one wins.
    ///
    /// # Errors
    /// [`TableError`] for an empty pattern or zero tokens.
    pub fn with_override(mut self, pattern: &str, tokens: u64) -> Result<Self, TableError> {
        let parsed =
            ModelPattern::try_from(pattern.to_owned()).map_err(|_| TableError::EmptyPattern)?;
        if tokens == 0 {
            return Err(TableError::BadFigure(pattern.to_owned(), "a window of no tokens"));
        }
        self.overrides.push((parsed, tokens));
        Ok(self)
    }

    /// Returns the window of a model, by the names of its provider entry and of the model. Servers
    /// for local use (`ollama` and similar) count as on-device; [`ContextWindows::for_model`] knows
    /// exactly.
    #[must_use]
    pub fn for_name(&self, provider: &str, model: &str) -> ContextWindow {
        let on_device = ON_DEVICE.iter().any(|id| id.eq_ignore_ascii_case(provider));
        self.find(provider, model, on_device)
    }

    /// Returns the window of a model. If requests set the window ([`ModelInfo::requested_window`]),
    /// that value overrides the tables. Otherwise a model on this device has the window with which
    /// its server was started, not its own maximum: an estimate.
    #[must_use]
    pub fn for_model(&self, info: &ModelInfo) -> ContextWindow {
        let window = if info.on_device {
            self.find(&info.provider, &info.model, true)
        } else {
            self.for_name(&info.provider, &info.model)
        };
        let Some(tokens) = info.requested_window else { return window };
        let max_output = window.max_output.map(|most| most.min(tokens));
        ContextWindow { tokens, max_output, known: true }
    }

    /// Returns the window that the user configured for a model, in tokens.
    #[must_use]
    pub fn configured(&self, provider: &str, model: &str) -> Option<u64> {
        self.find_override(&ModelNames::new(provider, model))
    }

    fn find_override(&self, names: &ModelNames) -> Option<u64> {
        let mut overrides = self.overrides.iter().rev();
        overrides.find(|(pattern, _)| names.any_match(pattern)).map(|(_, tokens)| *tokens)
    }

    fn find(&self, provider: &str, model: &str, on_device: bool) -> ContextWindow {
        let names = ModelNames::new(provider, model);
        let entries = if on_device { &self.table.on_device } else { &self.table.hosted };
        let entry = entries.iter().find(|entry| entry.models.iter().any(|p| names.any_match(p)));
        let max_output = entry.and_then(|entry| entry.max_output);
        if let Some(tokens) = self.find_override(&names) {
            let max_output = max_output.map(|most| most.min(tokens));
            return ContextWindow { tokens, max_output, known: true };
        }
        // The last entry of each list matches every model.
        let (tokens, known) = entry.map_or((0, false), |entry| (entry.tokens, !entry.estimated));
        ContextWindow { tokens, max_output, known }
    }
}

fn check(list: &'static str, entries: &[Entry]) -> Result<(), TableError> {
    let all = ModelPattern::try_from("*".to_owned()).map_err(|_| TableError::EmptyPattern)?;
    if !entries.last().is_some_and(|entry| entry.models.contains(&all)) {
        return Err(TableError::NoFallback(list));
    }
    for entry in entries {
        let bad = |what| Err(TableError::BadFigure(format!("{:?}", entry.models), what));
        if entry.models.is_empty() {
            return bad("an entry for no model");
        }
        if entry.tokens == 0 || entry.max_output == Some(0) {
            return bad("a window or an answer of no tokens");
        }
        if entry.max_output.is_some_and(|most| most > entry.tokens) {
            return bad("an answer longer than the window");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use toolcrib_providers::Format;
    use toolcrib_providers::quirks::OLLAMA_CONTEXT;

    use super::*;

    fn builtin() -> ContextWindows {
        ContextWindows::builtin().unwrap()
    }

    #[test]
    fn windows_of_models() {
        for (provider, model, tokens, max_output, known) in [
            ("anthropic", "claude-opus-5-5", 1_000_000, Some(128_000), true),
            ("anthropic", "claude-sonnet-4-6", 1_000_000, Some(128_000), true),
            ("anthropic", "claude-sonnet-4-5-20250929", 200_000, Some(64_000), true),
            ("anthropic", "claude-opus-4-1", 200_000, Some(32_000), true),
            ("anthropic", "claude-next", 200_000, None, false),
            ("openai-responses", "gpt-6.1-sol", 1_050_000, Some(128_000), true),
            ("openai-chat", "gpt-5-mini", 400_000, Some(128_000), true),
            ("openai-chat", "gpt-5.4-mini", 400_000, Some(128_000), true),
            ("openai-chat", "gpt-4o-mini", 128_000, Some(16_384), true),
            ("openrouter", "anthropic/claude-haiku-4-5:free", 200_000, Some(64_000), true),
            ("gemini", "models/gemini-2.5-flash", 1_000_000, None, false),
            ("deepseek", "deepseek-v4-pro", 1_000_000, Some(384_000), true),
            ("mine", "unheard-of", 128_000, None, false),
            ("llama.cpp", "gpt-oss", 16_384, None, false),
            ("ollama", "qwen3:14b", OLLAMA_CONTEXT, None, false),
            ("ollama", "gpt-oss:120b-cloud", 128_000, None, false),
        ] {
            let window = ContextWindow { tokens, max_output, known };
            assert_eq!(builtin().for_name(provider, model), window, "{provider} {model}");
        }
    }

    #[test]
    fn no_entry_is_hidden_by_one_before_it() {
        let table = builtin().table;
        for entries in [&table.hosted, &table.on_device] {
            for (at, entry) in entries.iter().enumerate() {
                for pattern in &entry.models {
                    let name = ModelNames::new("p", &pattern.as_str().replace('*', "zz"));
                    let first = entries
                        .iter()
                        .position(|entry| entry.models.iter().any(|p| name.any_match(p)));
                    assert_eq!(first, Some(at), "{pattern:?}");
                }
            }
        }
    }

    #[test]
    fn the_user_knows_better() {
        let windows = builtin()
            .with_override("claude-*", 500_000)
            .unwrap()
            .with_override("ollama/*", 65_536)
            .unwrap()
            .with_override("claude-haiku*", 50_000)
            .unwrap();
        let window = windows.for_name("anthropic", "claude-opus-5");
        assert_eq!((window.tokens, window.known), (500_000, true));
        let window = windows.for_name("anthropic", "claude-haiku-4-5");
        assert_eq!((window.tokens, window.max_output), (50_000, Some(50_000)));
        assert_eq!(windows.for_name("ollama", "llama3.2:1b").tokens, 65_536);
        assert_eq!(windows.for_name("gemini", "gemini-3.8-flash").tokens, 1_048_576);
    }

    #[test]
    fn a_model_on_this_device_has_what_its_server_gives_it() {
        let info = ModelInfo {
            provider: "my-server".into(),
            model: "gpt-oss-120b".into(),
            format: Format::OpenAiChat,
            scripted: false,
            on_device: true,
            requested_window: None,
        };
        assert_eq!(builtin().for_model(&info).tokens, 16_384);
        assert_eq!(builtin().for_model(&ModelInfo { on_device: false, ..info }).tokens, 131_072);
    }

    #[test]
    fn a_window_that_requests_set_is_the_window_that_counts() {
        let windows = builtin().with_override("*", 500_000).unwrap();
        let info = ModelInfo {
            provider: "my-server".into(),
            model: "gpt-4o-mini".into(),
            format: Format::OpenAiChat,
            scripted: false,
            on_device: false,
            requested_window: Some(OLLAMA_CONTEXT),
        };
        for (windows, max_output) in [(builtin(), Some(16_384)), (windows, Some(16_384))] {
            let expected = ContextWindow { tokens: OLLAMA_CONTEXT, max_output, known: true };
            assert_eq!(windows.for_model(&info), expected);
        }
        let small = ModelInfo { requested_window: Some(2_048), ..info };
        let window = builtin().for_model(&small);
        assert_eq!((window.tokens, window.max_output), (2_048, Some(2_048)));
    }

    #[test]
    fn bad_tables_and_overrides_are_refused() {
        let fallback = "[[on_device]]\nmodels=[\"*\"]\ntokens=1\n[[hosted]]\nmodels=[\"*\"]\n";
        for (text, part) in [
            ("x = 1".to_owned(), "unknown field"),
            (
                "[[hosted]]\nmodels=[\"a\"]\ntokens=1\n[[on_device]]\nmodels=[\"*\"]\ntokens=1"
                    .into(),
                "must be for",
            ),
            (format!("{fallback}tokens = 0"), "no tokens"),
            (format!("{fallback}tokens = 9\nmax_output = 10"), "longer"),
            (format!("{fallback}tokens = 9\ntoken = 10"), "unknown field"),
        ] {
            let error = ContextWindows::parse(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(builtin().with_override(" ", 1), Err(TableError::EmptyPattern));
        assert!(builtin().with_override("a", 0).is_err());
    }
}
