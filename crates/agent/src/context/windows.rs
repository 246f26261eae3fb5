//! How much a model takes: its window and its longest answer, in tokens.
//!
//! The figures are in `windows.toml`, with their sources; what a user knows better goes before them. What no source says is an estimate of
//! seed 000.

use serde::Deserialize;
use toolcrib_providers::model::ModelInfo;

use super::pattern::{Names, Pattern};

const BUILTIN: &str = include_str!("windows.toml");

/// How much a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Tokens of request and answer together.
    pub tokens: u64,
    /// Most tokens of one answer, where a source says so.
    pub max_output: Option<u64>,
    /// Whether a source, or the user, says so; else it is an estimate.
    pub known: bool,
}

/// A table of models that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It is no TOML of the table's form.
    #[error("table of models: {0}")]
    Unreadable(String),
    /// A pattern without a character.
    #[error("a pattern for models cannot be empty")]
    EmptyPattern,
    /// A figure that cannot be.
    #[error("model \"{0}\": {1}")]
    BadFigure(String, &'static str),
    /// A list that leaves some model without a figure.
    #[error("table of models: the last entry of \"{0}\" must be for \"*\"")]
    NoFallback(&'static str),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    models: Vec<Pattern>,
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

/// Every window that is known, and an estimate for every other.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    overrides: Vec<(Pattern, u64)>,
    table: Table,
}

/// Provider ids whose models run on this device, for callers that have no [`ModelInfo`]: servers that are meant for that.
const ON_DEVICE: [&str; 4] = ["ollama", "llama.cpp", "llamacpp", "lmstudio"];

impl Windows {
    /// The figures that are shipped.
    ///
    /// # Errors
    /// [`TableError`] when the file that is compiled in is wrong; a test keeps that from happening.
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

    /// The same with a window that the user knows better. The pattern is held against the model's name, against what follows its last slash,
    /// and against `provider/model`; of two that match, the one that was given last wins.
    ///
    /// # Errors
    /// [`TableError`] for an empty pattern or no tokens.
    pub fn with_override(mut self, pattern: &str, tokens: u64) -> Result<Self, TableError> {
        let parsed = Pattern::try_from(pattern.to_owned()).map_err(|_| TableError::EmptyPattern)?;
        if tokens == 0 {
            return Err(TableError::BadFigure(pattern.to_owned(), "a window of no tokens"));
        }
        self.overrides.push((parsed, tokens));
        Ok(self)
    }

    /// The window of a model, by the names of its provider entry and of the model. Providers that are servers for this device (`ollama` and
    /// the like) count as such; [`Windows::of_model`] knows better.
    #[must_use]
    pub fn of(&self, provider: &str, model: &str) -> Window {
        let on_device = ON_DEVICE.iter().any(|id| id.eq_ignore_ascii_case(provider));
        self.find(provider, model, on_device)
    }

    /// The window of a model. One that runs on this device has what its server was started with, whatever the model could do: an estimate. Where
    /// a request asks for another one ([`toolcrib_providers::quirks::Quirks::num_ctx`]), that belongs into an override.
    #[must_use]
    pub fn of_model(&self, info: &ModelInfo) -> Window {
        self.find(&info.provider, &info.model, info.on_device)
    }

    fn find(&self, provider: &str, model: &str, on_device: bool) -> Window {
        let names = Names::new(provider, model);
        let entries = if on_device { &self.table.on_device } else { &self.table.hosted };
        let entry = entries.iter().find(|entry| entry.models.iter().any(|p| names.any_match(p)));
        let own = self.overrides.iter().rev().find(|(pattern, _)| names.any_match(pattern));
        let max_output = entry.and_then(|entry| entry.max_output);
        if let Some((_, tokens)) = own {
            let max_output = max_output.map(|most| most.min(*tokens));
            return Window { tokens: *tokens, max_output, known: true };
        }
        // The last entry of each list is for every model.
        let (tokens, known) = entry.map_or((0, false), |entry| (entry.tokens, !entry.estimated));
        Window { tokens, max_output, known }
    }
}

fn check(list: &'static str, entries: &[Entry]) -> Result<(), TableError> {
    let all = Pattern::try_from("*".to_owned()).map_err(|_| TableError::EmptyPattern)?;
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

    fn builtin() -> Windows {
        Windows::builtin().unwrap()
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
            let window = Window { tokens, max_output, known };
            assert_eq!(builtin().of(provider, model), window, "{provider} {model}");
        }
    }

    #[test]
    fn no_entry_is_hidden_by_one_before_it() {
        let table = builtin().table;
        for entries in [&table.hosted, &table.on_device] {
            for (at, entry) in entries.iter().enumerate() {
                for pattern in &entry.models {
                    let name = Names::new("p", &pattern.as_str().replace('*', "zz"));
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
        let window = windows.of("anthropic", "claude-opus-5");
        assert_eq!((window.tokens, window.known), (500_000, true));
        let window = windows.of("anthropic", "claude-haiku-4-5");
        assert_eq!((window.tokens, window.max_output), (50_000, Some(50_000)));
        assert_eq!(windows.of("ollama", "llama3.2:1b").tokens, 65_536);
        assert_eq!(windows.of("gemini", "gemini-3.8-flash").tokens, 1_048_576);
    }

    #[test]
    fn a_model_on_this_device_has_what_its_server_gives_it() {
        let info = ModelInfo {
            provider: "my-server".into(),
            model: "gpt-oss-120b".into(),
            format: Format::OpenAiChat,
            scripted: false,
            on_device: true,
        };
        assert_eq!(builtin().of_model(&info).tokens, 16_384);
        assert_eq!(builtin().of_model(&ModelInfo { on_device: false, ..info }).tokens, 131_072);
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
            let error = Windows::parse(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(builtin().with_override(" ", 1), Err(TableError::EmptyPattern));
        assert!(builtin().with_override("a", 0).is_err());
    }
}
