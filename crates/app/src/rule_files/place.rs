//! Where rules stand, and all of them together.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use toolcrib_engine::rules::{Layer, RuleSet, Written};

use super::error::RulesError;
use super::read::parse;

/// Largest file, in bytes: ten thousand rules with their reasons and examples are less.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whose rules they are.
    pub layer: Layer,
    /// The file.
    pub path: PathBuf,
    /// Whether somebody named it: it must be there then.
    pub named: bool,
}

impl Place {
    /// A file that need not be there.
    pub fn new(layer: Layer, path: impl Into<PathBuf>) -> Self {
        Self { layer, path: path.into(), named: false }
    }

    /// The text of the file; empty when it may be missing and is.
    ///
    /// # Errors
    /// [`RulesError::Unreadable`].
    pub fn text(&self) -> Result<String, RulesError> {
        match read(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if !self.named && is_absent(&error) => Ok(String::new()),
            Err(error) => Err(RulesError::Unreadable { path: self.path.clone(), error }),
        }
    }

    /// The rules of the file, in their order.
    ///
    /// # Errors
    /// [`RulesError`] when it cannot be read, or its form is wrong.
    pub fn rules(&self) -> Result<Vec<Written>, RulesError> {
        parse(&self.path, &self.text()?, self.layer)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn read(path: &Path) -> io::Result<String> {
    // Looked at before it is opened: a pipe would be waited for.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// The rules of several files, in the order of the files.
///
/// # Errors
/// The first file that cannot be read, or whose form is wrong.
pub fn read_all(places: &[Place]) -> Result<Vec<Written>, RulesError> {
    let mut rules = Vec::new();
    for place in places {
        rules.extend(place.rules()?);
    }
    Ok(rules)
}

/// The rules of several files, ready to judge.
///
/// # Errors
/// [`RulesError`]: then none of them is taken.
pub fn compile(places: &[Place]) -> Result<RuleSet, RulesError> {
    RuleSet::compile(read_all(places)?).map_err(RulesError::Refused)
}
