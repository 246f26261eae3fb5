//! Syntax check of edited JSON, TOML, YAML and Python files, with parsers that are already part of
//! the program. Other languages are checked by language servers and tests: `oxc_parser` 0.146, the
//! Rust parser of JavaScript, overflows the stack on 200,000 opening brackets, which ends the
//! process, and a parser in C must not parse a model's text outside a sandbox.
#![deny(clippy::indexing_slicing)]

use std::path::Path;

use serde::de::IgnoredAny;

/// Largest text that is checked, in bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Maximum YAML events that aliases may repeat (against exponential expansion).
const MAX_REPLAYED: usize = 10_000;
/// Characters of an error that are shown.
const SHOWN: usize = 200;

/// Returns the syntax error in the new content of a file. `None` if there is none, if the format is
/// unknown, or if the old content had an error too (`tsconfig.json` contains comments).
pub(crate) fn warning(path: &str, old: Option<&str>, new: &str) -> Option<String> {
    let language = Language::of(path)?;
    let fault = language.fault(new)?;
    if old.is_some_and(|old| !old.trim().is_empty() && language.fault(old).is_some()) {
        return None;
    }
    let fault: String = fault.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
    Some(format!("{path} is not valid {} now: {fault}", language.name()))
}

#[derive(Clone, Copy)]
enum Language {
    Json,
    Toml,
    Yaml,
    Python,
}

impl Language {
    fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" | "webmanifest" | "ipynb" | "geojson" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "py" | "pyi" => Some(Self::Python),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Python => "Python",
        }
    }

    fn fault(self, text: &str) -> Option<String> {
        if text.len() > MAX_BYTES {
            return None;
        }
        match self {
            // `IgnoredAny` parses without building values, and bounds the depth.
            Self::Json => serde_json::from_str::<IgnoredAny>(text).err().map(|e| e.to_string()),
            Self::Toml => toml::from_str::<toml::Table>(text).err().map(|e| e.to_string()),
            Self::Python => ruff_python_parser::parse_module(text).err().map(|error| {
                let before = text.get(..error.location.start().to_usize()).unwrap_or_default();
                format!("line {}: {}", before.matches('\n').count() + 1, error.error)
            }),
            Self::Yaml => {
                let options = serde_saphyr::options! {
                    with_snippet: false,
                    alias_limits: serde_saphyr::alias_limits! {
                        max_total_replayed_events: MAX_REPLAYED,
                    },
                };
                serde_saphyr::from_multiple_with_options::<IgnoredAny>(text, options)
                    .err()
                    .map(|e| e.to_string())
            }
        }
    }
}
