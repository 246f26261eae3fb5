//! Whether a changed file still is what its name says: JSON, TOML, YAML. Data formats whose parsers are in the program anyway; for
//! languages there are the language servers and the tests.
#![deny(clippy::indexing_slicing)]

use std::path::Path;

use serde::de::IgnoredAny;

/// Largest text that is checked.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Most YAML events that aliases may repeat.
const MAX_REPLAYED: usize = 10_000;
/// Characters of a fault that are shown.
const SHOWN: usize = 200;

/// What is wrong with the new content of a file; `None` = nothing, or a language that is not known, or it was as wrong before
/// (`tsconfig.json` has comments).
pub(crate) fn warning(path: &str, old: Option<&str>, new: &str) -> Option<String> {
    let language = Language::of(path)?;
    let fault = language.fault(new)?;
    if old.is_some_and(|old| !old.trim().is_empty() && language.fault(old).is_some()) {
        return None;
    }
    let fault: String = fault.lines().next().unwrap_or_default().chars().take(SHOWN).collect();
    Some(format!("{path} is no valid {} now: {fault}", language.name()))
}

#[derive(Clone, Copy)]
enum Language {
    Json,
    Toml,
    Yaml,
}

impl Language {
    fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" | "webmanifest" | "ipynb" | "geojson" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    fn fault(self, text: &str) -> Option<String> {
        if text.len() > MAX_BYTES {
            return None;
        }
        match self {
            // The depth is bounded by asking for nothing but the shape.
            Self::Json => serde_json::from_str::<IgnoredAny>(text).err().map(|e| e.to_string()),
            Self::Toml => toml::from_str::<toml::Table>(text).err().map(|e| e.to_string()),
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
