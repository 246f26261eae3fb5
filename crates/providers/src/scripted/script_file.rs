//! Reads script files.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde_saphyr::{Error, Spanned};

use toolcrib_core::similar_names::likely_typos;

use crate::scripted::error::ScriptError;
use crate::scripted::script_turn::ScriptTurn;

/// Version of the file format that this build reads.
const VERSION: u64 = 1;
/// Size limit of a script, in bytes; hand-written conversations are far smaller.
const MAX_BYTES: u64 = 1024 * 1024;
/// Limit of nesting: arguments are read recursively.
const MAX_DEPTH: usize = 100;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    version: Spanned<u64>,
    #[serde(default)]
    name: Option<String>,
    turns: Vec<Spanned<ScriptTurn>>,
}

/// A parsed script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) name: Option<String>,
    /// The turns with their lines.
    pub(super) turns: Vec<(u64, ScriptTurn)>,
}

/// Reads the text of a file; refuses folders, pipes and files over the limit.
pub(super) fn read(path: &Path) -> Result<String, ScriptError> {
    let failed = |source| ScriptError::Read { path: path.to_owned(), source };
    // Checked before opening: opening a pipe would block.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::other(format!("it is larger than {MAX_BYTES} bytes"))));
    }
    Ok(text)
}

/// Parses a script; `file` is its name in errors.
pub(super) fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // YAML 1.2: `y`, `n`, `on` and `off` are texts, as in an argument `answer: y`.
        strict_booleans: true,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
    };
    let script: ScriptFile = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| invalid(file, line(&error), message(&error)))?;
    if script.version.value != VERSION {
        let version = script.version.value;
        let what = format!("version {version} of scripts is not known; this is version {VERSION}");
        return Err(invalid(file, script.version.referenced.line(), what));
    }
    let turns = script.turns.into_iter().map(|turn| (turn.referenced.line(), turn.value)).collect();
    Ok(Script { name: script.name, turns })
}

pub(super) fn invalid(file: &str, line: u64, message: impl Into<String>) -> ScriptError {
    ScriptError::Invalid { file: file.to_owned(), line, message: message.into() }
}

fn line(error: &Error) -> u64 {
    error.location().map_or(1, |at| at.line())
}

/// Returns the error message, with a suggestion for a misspelled name.
fn message(error: &Error) -> String {
    match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => unknown("word", variant, expected),
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        other => {
            let text = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
            // The caller prepends the line.
            let end = text.rfind(" at line ").unwrap_or(text.len());
            text.get(..end).unwrap_or(&text).to_owned()
        }
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match likely_typos(name, known.iter().copied()).first() {
        Some(near) => format!("unknown {what} `{name}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`; known are {}", known.join(", ")),
    }
}
