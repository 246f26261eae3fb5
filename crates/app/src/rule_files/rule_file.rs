//! Locations of rule files, and reading several of them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use toolcrib_engine::rules::{Layer, RuleSet, RuleSource};

use super::error::RulesError;
use super::parser::parse_rules;

/// Maximum size of a file in bytes; ten thousand rules with reasons and examples take less.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Layer of its rules.
    pub layer: Layer,
    /// The file.
    pub path: PathBuf,
    /// Whether the file was named explicitly and must exist.
    pub must_exist: bool,
}

impl RuleFile {
    /// Creates the location of a file that may be missing.
    pub fn new(layer: Layer, path: impl Into<PathBuf>) -> Self {
        Self { layer, path: path.into(), must_exist: false }
    }

    /// Reads the text of the file; returns an empty text if the file is missing and may be missing.
    ///
    /// # Errors
    /// [`RulesError::Unreadable`].
    pub fn text(&self) -> Result<String, RulesError> {
        match read_text(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if !self.must_exist && is_absent(&error) => Ok(String::new()),
            Err(error) => Err(RulesError::Unreadable { path: self.path.clone(), error }),
        }
    }

    /// Reads the rules of the file, in order.
    ///
    /// # Errors
    /// [`RulesError`] when it cannot be read or is invalid.
    pub fn rules(&self) -> Result<Vec<RuleSource>, RulesError> {
        parse_rules(&self.path, &self.text()?, self.layer)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn read_text(path: &Path) -> io::Result<String> {
    // Checked before opening: opening a FIFO would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Reads the rules of several files, in the order of the files.
///
/// # Errors
/// The error of the first file that cannot be read or is invalid.
pub fn read_rules(places: &[RuleFile]) -> Result<Vec<RuleSource>, RulesError> {
    let mut rules = Vec::new();
    for place in places {
        rules.extend(place.rules()?);
    }
    Ok(rules)
}

/// Reads and compiles the rules of several files.
///
/// # Errors
/// [`RulesError`]; no rule is used in that case.
pub fn compile_files(places: &[RuleFile]) -> Result<RuleSet, RulesError> {
    RuleSet::compile(read_rules(places)?).map_err(RulesError::Refused)
}
