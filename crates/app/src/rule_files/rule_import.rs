//! Imports rules of other programs.

use std::path::Path;
use std::str::FromStr;

use toolcrib_engine::rules::{Layer, RuleError, RuleSet, RuleSource};

use super::error::RulesError;
use super::parser::identity;
use super::rule_file::RuleFile;
use super::{anchor_paths, claude, codex, rule_file};

/// The program that a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// `settings.json` of Claude Code.
    Claude,
    /// `*.rules` of Codex: calls of `prefix_rule`.
    Codex,
}

impl FromStr for ImportFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex),
            _ => Err(format!("\"{text}\" is not a format; use claude or codex")),
        }
    }
}

impl ImportFormat {
    /// Guesses the format from the file name.
    #[must_use]
    pub fn detect(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" | "jsonc" => Some(Self::Claude),
            "rules" | "codexpolicy" | "star" => Some(Self::Codex),
            _ => None,
        }
    }
}

/// An entry of an imported file that does not become a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The entry.
    pub what: String,
    /// The reason for skipping it, and the setting with the same purpose.
    pub why: String,
}

/// Content of an imported file.
#[derive(Debug, Default)]
pub struct ImportedFile {
    /// Its rules, with their origin.
    pub rules: Vec<RuleSource>,
    /// Entries that are not rules.
    pub skipped: Vec<Skipped>,
}

impl ImportedFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RulesError`] when it cannot be read or is invalid.
    pub fn read(path: &Path, format: ImportFormat) -> Result<Self, RulesError> {
        let text = rule_file::read_text(path)
            .map_err(|error| RulesError::Unreadable { path: path.to_path_buf(), error })?;
        Self::parse(path, &text, format)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`RulesError::Malformed`].
    pub fn parse(path: &Path, text: &str, format: ImportFormat) -> Result<Self, RulesError> {
        let malformed =
            |(line, what)| RulesError::Malformed { path: path.to_path_buf(), line, what };
        let (rules, skipped) = match format {
            ImportFormat::Claude => {
                let found = claude::parse_claude(text).map_err(malformed)?;
                (found.rules, found.skipped)
            }
            ImportFormat::Codex => codex::parse_codex(text).map_err(malformed)?,
        };
        let rules = rules.into_iter().map(|(line, text)| RuleSource {
            text,
            layer: Layer::User,
            origin: format!("{}:{line}", path.display()),
        });
        Ok(Self { rules: rules.collect(), skipped })
    }
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct ImportResult {
    /// Rules that can be added.
    pub accepted: Vec<RuleSource>,
    /// Rules that cannot be added, and the reasons.
    pub refused: Vec<RuleError>,
}

/// Checks which rules can be added to those of a file; `anyway` accepts unsafe ones and marks them
/// as such. Patterns relative to the folder of the old file are rewritten to mean the same in the
/// new one.
///
/// # Errors
/// [`RulesError`] when the file cannot be read.
pub fn import_rules(
    rules: Vec<RuleSource>,
    place: &RuleFile,
    anyway: bool,
) -> Result<ImportResult, RulesError> {
    let mut imported = ImportResult::default();
    for mut rule in rules {
        let faults = match faults(vec![rule.clone()]) {
            faults if faults.is_empty() || !anyway => faults,
            _ => {
                rule.text.is_unsafe = true;
                self::faults(vec![rule.clone()])
            }
        };
        if !faults.is_empty() {
            imported.refused.extend(faults);
            continue;
        }
        let file = rule.origin.rsplit_once(':').map_or("", |(file, _)| file);
        rule.text.rule =
            anchor_paths::rebase_pattern(&rule.text.rule, Path::new(file), Some(&place.path));
        rule.layer = place.layer;
        let reason = rule.text.reason.take();
        rule.text.reason = reason.or_else(|| Some(format!("imported from {}", rule.origin)));
        imported.accepted.push(rule);
    }
    check_together(&mut imported, place.rules()?);
    Ok(imported)
}

/// Drops rules that duplicate another one or have no effect together with another one.
fn check_together(imported: &mut ImportResult, existing: Vec<RuleSource>) {
    let known: Vec<_> = existing.iter().map(|rule| identity(&rule.text)).collect();
    imported.accepted.retain(|rule| !known.contains(&identity(&rule.text)));
    let all = existing.into_iter().chain(imported.accepted.iter().cloned()).collect();
    for fault in faults(all) {
        let is_meant =
            |rule: &RuleSource| rule.origin == fault.origin && rule.text.rule == fault.rule;
        if let Some(at) = imported.accepted.iter().rposition(is_meant) {
            drop(imported.accepted.remove(at));
            imported.refused.push(fault);
        }
    }
}

fn faults(rules: Vec<RuleSource>) -> Vec<RuleError> {
    RuleSet::compile(rules).err().unwrap_or_default()
}
