//! Previews the rules that an import would add to a rule file. Nothing is written.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::rule_files::{
    ImportFormat, ImportResult, ImportedFile, RuleFile, RulesError, Skipped, append_rules,
    import_rules,
};
use toolcrib_app::rules::{RuleError, RuleSource, RuleText};

use crate::error::OpError;

/// A text with rules.
#[derive(Debug, Clone)]
pub struct ImportRulesRequest {
    /// The file to which they would be added.
    pub place: RuleFile,
    /// The text.
    pub text: String,
    /// Name of the source file, such as `settings.json`.
    pub name: String,
    /// The program of the source; `None` derives it from the name.
    pub format: Option<ImportFormat>,
    /// Whether to accept rules that allow more than they seem to, marked as `unsafe`.
    pub anyway: bool,
}

/// The preview of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RulesImport")]
pub struct ImportRulesReply {
    /// The rules that would be added, except those that the file already contains.
    pub rules: Vec<ImportedRule>,
    /// Rules that cannot be added.
    pub left_out: Vec<RefusedRule>,
    /// Entries that are not rules.
    pub not_rules: Vec<SkippedEntry>,
    /// The current text of the file.
    pub before: String,
    /// The text after the import.
    pub after: String,
}

/// A rule that would be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRule {
    /// The rule in the format for adding it.
    pub body: Value,
    /// Its position: `NAME:LINE`.
    pub from: String,
}

/// A rule that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedRule {
    /// Its position: `NAME:LINE`.
    pub from: String,
    /// The rule.
    pub rule: String,
    /// The reason.
    pub why: String,
}

/// An entry that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedEntry {
    /// The entry.
    pub what: String,
    /// The reason, and the setting with the same purpose.
    pub why: String,
}

/// Previews an import.
///
/// # Errors
/// [`OpError::Invalid`] for a text that is not of its format, or if the name does not determine the
/// format; [`OpError::Unavailable`] if the file of rules cannot be read.
pub fn import(request: &ImportRulesRequest) -> Result<ImportRulesReply, OpError> {
    let ImportRulesRequest { place, text, name, format, anyway } = request;
    let path = Path::new(name);
    let format = format.or_else(|| ImportFormat::detect(path)).ok_or_else(|| {
        let why = "the name does not say whose rules these are; the format is claude or codex";
        OpError::Invalid(format!("{name}: {why}"))
    })?;
    let found = ImportedFile::parse(path, text, format).map_err(failed)?;
    Ok(ImportRulesReply::from(&plan_import(place, [found], *anyway).map_err(failed)?))
}

/// The effect of an import on a file of rules.
#[derive(Debug)]
pub struct PlannedImport {
    /// The rules that would be added.
    pub accepted: Vec<RuleSource>,
    /// Rules that cannot be added.
    pub refused: Vec<RuleError>,
    /// Entries that are not rules.
    pub skipped: Vec<Skipped>,
    /// The current text of the file.
    pub before: String,
    /// The text after the import.
    pub after: String,
}

impl PlannedImport {
    /// Returns the texts of the rules that would be added.
    #[must_use]
    pub fn texts(&self) -> Vec<RuleText> {
        self.accepted.iter().map(|rule| rule.text.clone()).collect()
    }
}

impl From<&PlannedImport> for ImportRulesReply {
    fn from(plan: &PlannedImport) -> Self {
        let rule =
            |rule: &RuleSource| ImportedRule { body: json!(rule.text), from: rule.origin.clone() };
        let refused = |fault: &RuleError| RefusedRule {
            from: fault.origin.clone(),
            rule: fault.rule.clone(),
            why: fault.what.clone(),
        };
        let skipped = |one: &Skipped| SkippedEntry { what: one.what.clone(), why: one.why.clone() };
        Self {
            rules: plan.accepted.iter().map(rule).collect(),
            left_out: plan.refused.iter().map(refused).collect(),
            not_rules: plan.skipped.iter().map(skipped).collect(),
            before: plan.before.clone(),
            after: plan.after.clone(),
        }
    }
}

/// Computes the effect of importing the rules of these files into `place`, together. Nothing is
/// written. With `anyway`, rules that allow more than they seem to are accepted and marked as
/// `unsafe`.
///
/// # Errors
/// [`RulesError`] if `place` cannot be read or changed.
pub fn plan_import(
    place: &RuleFile,
    files: impl IntoIterator<Item = ImportedFile>,
    anyway: bool,
) -> Result<PlannedImport, RulesError> {
    let (mut rules, mut skipped) = (Vec::new(), Vec::new());
    for file in files {
        rules.extend(file.rules);
        skipped.extend(file.skipped);
    }
    let ImportResult { accepted, refused } = import_rules(rules, place, anyway)?;
    let texts: Vec<RuleText> = accepted.iter().map(|rule| rule.text.clone()).collect();
    let before = place.text()?;
    let after = append_rules(place, &before, &texts)?;
    Ok(PlannedImport { accepted, refused, skipped, before, after })
}

fn failed(error: RulesError) -> OpError {
    match &error {
        RulesError::Malformed { .. } | RulesError::Refused(_) => {
            OpError::Invalid(error.to_string())
        }
        RulesError::Unreadable { .. } | RulesError::Unwritable { .. } => {
            OpError::Unavailable(error.to_string())
        }
    }
}
