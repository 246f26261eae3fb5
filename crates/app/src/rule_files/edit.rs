//! Edits rule files in place: comments and order stay.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toml_edit::{DocumentMut, Item, TableLike, Value};
use toolcrib_engine::rules::{Layer, RuleSet, RuleSource, RuleText};

use super::anchor_paths;
use super::error::RulesError;
use super::parser::{identity, parse_rules};
use super::rule_file::RuleFile;
use crate::LockedFile;

/// The key of a rule that is only observed.
const OBSERVE: &str = "observe";

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// The former text; empty if the file did not exist.
    pub before: String,
    /// The new text.
    pub after: String,
}

/// Appends rules to the text of a file, except those that it already contains. An existing rule
/// that is only observed is put into force.
///
/// # Errors
/// [`RulesError`]: the file is invalid, or would become so.
pub fn append_rules(
    place: &RuleFile,
    text: &str,
    rules: &[RuleText],
) -> Result<String, RulesError> {
    let known = parse_rules(&place.path, text, place.layer)?;
    let mut after = text.to_owned();
    for rule in rules.iter().filter(|rule| !rule.is_observed) {
        let is_observed =
            |one: &RuleSource| one.text.is_observed && identity(&one.text) == identity(rule);
        if let Some(at) = known.iter().position(is_observed) {
            after = set_in_force(place, &after, at)?;
        }
    }
    let known: Vec<_> = known.iter().map(|rule| identity(&rule.text)).collect();
    let mut document = document(&place.path, &after)?;
    for rule in rules.iter().filter(|rule| !known.contains(&identity(rule))) {
        match document.get_mut("rules").and_then(Item::as_array_mut) {
            Some(array) => {
                let table = rule_table(rule)?;
                array.push(Value::InlineTable(table.into_inline_table()));
                after = document.to_string();
            }
            None => {
                after = format!("{}{}", with_trailing_blank_line(after), to_toml(rule));
            }
        }
    }
    let written = parse_rules(&place.path, &after, place.layer)?;
    RuleSet::compile(written).map_err(RulesError::Refused)?;
    Ok(after)
}

/// Adds an empty line at the end of a text that is not empty.
fn with_trailing_blank_line(mut text: String) -> String {
    if text.is_empty() {
        return text;
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}

/// Serializes a rule in the format of a file.
#[must_use]
pub fn to_toml(rule: &RuleText) -> String {
    #[derive(Serialize)]
    struct One<'a> {
        rules: [&'a RuleText; 1],
    }
    // The value contains only strings, lists of strings and booleans, so serialization cannot fail.
    toml::to_string(&One { rules: [rule] }).unwrap_or_default()
}

fn rule_table(rule: &RuleText) -> Result<toml_edit::Table, RulesError> {
    let document = document(Path::new(""), &to_toml(rule))?;
    let table =
        document.get("rules").and_then(Item::as_array_of_tables).and_then(|rules| rules.get(0));
    Ok(table.cloned().unwrap_or_default())
}

fn document(path: &Path, text: &str) -> Result<DocumentMut, RulesError> {
    text.parse().map_err(|error: toml_edit::TomlError| RulesError::Malformed {
        path: path.to_path_buf(),
        line: super::parser::line_of(text, error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })
}

/// Removes the rule with this index, from 0, and the comments directly above it. The remaining file
/// may still be invalid, so that invalid files can be repaired.
///
/// # Errors
/// [`RulesError`] if the text is not TOML, or the rule does not exist.
pub fn remove_rule(place: &RuleFile, text: &str, index: usize) -> Result<String, RulesError> {
    let mut document = document(&place.path, text)?;
    let gone = match document.get_mut("rules") {
        Some(Item::ArrayOfTables(tables)) if index < tables.len() => {
            drop(tables.remove(index));
            tables.is_empty()
        }
        Some(Item::Value(Value::Array(array))) if index < array.len() => {
            drop(array.remove(index));
            array.is_empty()
        }
        _ => return Err(missing_rule(place, index)),
    };
    if gone {
        document.remove("rules");
    }
    Ok(document.to_string())
}

/// Puts the observed rule with this index, from 0, into force.
///
/// # Errors
/// [`RulesError`] if the text is not TOML, the rule does not exist, or the file would become
/// invalid.
pub fn enforce_rule(place: &RuleFile, text: &str, index: usize) -> Result<String, RulesError> {
    let after = set_in_force(place, text, index)?;
    let written = parse_rules(&place.path, &after, place.layer)?;
    RuleSet::compile(written).map_err(RulesError::Refused)?;
    Ok(after)
}

fn set_in_force(place: &RuleFile, text: &str, index: usize) -> Result<String, RulesError> {
    let mut document = document(&place.path, text)?;
    let rule = match document.get_mut("rules") {
        Some(Item::ArrayOfTables(tables)) => {
            tables.get_mut(index).map(|table| table as &mut dyn TableLike)
        }
        Some(Item::Value(Value::Array(array))) => array
            .get_mut(index)
            .and_then(Value::as_inline_table_mut)
            .map(|table| table as &mut dyn TableLike),
        _ => None,
    };
    rule.ok_or_else(|| missing_rule(place, index))?.remove(OBSERVE);
    Ok(document.to_string())
}

fn missing_rule(place: &RuleFile, index: usize) -> RulesError {
    let what = format!("there is no rule number {}", index + 1);
    RulesError::Malformed { path: place.path.clone(), line: 1, what }
}

/// Changes a file under its lock. The file is replaced atomically; a new one gets mode 0600.
///
/// # Errors
/// [`RulesError`]; the file is then unchanged.
pub fn write_rules(
    place: &RuleFile,
    change: impl FnOnce(&str) -> Result<String, RulesError>,
) -> Result<FileChange, RulesError> {
    let unwritable = |error| RulesError::Unwritable { path: place.path.clone(), error };
    let path = link_target(place).map_err(unwritable)?;
    let file = LockedFile::wait(path).map_err(unwritable)?;
    let before = place.text()?;
    let after = change(&before)?;
    if before != after {
        file.replace(&after).map_err(unwritable)?;
    }
    Ok(FileChange { path: place.path.clone(), before, after })
}

/// Resolves a link to the file itself: users may keep their rule file elsewhere and link to it.
/// Links in a workspace are not followed, since they could lead anywhere.
fn link_target(place: &RuleFile) -> io::Result<PathBuf> {
    let is_own = matches!(place.layer, Layer::Managed | Layer::User);
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if !is_own && (is_link(&place.path) || place.path.parent().is_some_and(is_link)) {
        return Err(io::Error::other(
            "it is a link, and a workspace's rules are written in the workspace only",
        ));
    }
    match fs::canonicalize(&place.path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(place.path.clone()),
        Err(error) => Err(error),
    }
}

/// Returns a rule with the same meaning in any file.
#[must_use]
pub fn to_portable(rule: &RuleSource) -> RuleText {
    let file = rule.origin.rsplit_once(':').map_or("", |(file, _)| file);
    RuleText {
        rule: anchor_paths::rebase_pattern(&rule.text.rule, Path::new(file), None),
        ..rule.text.clone()
    }
}

/// Adds rules to a file.
///
/// # Errors
/// [`RulesError`]: the file is invalid, or would become so; it is then unchanged.
pub fn add_rules(place: &RuleFile, rules: &[RuleText]) -> Result<FileChange, RulesError> {
    write_rules(place, |text| append_rules(place, text, rules))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use toolcrib_core::Verdict;
    use toolcrib_engine::rules::{Layer, RuleText};

    use super::{RuleFile, add_rules, append_rules, remove_rule, to_toml, write_rules};

    fn place(folder: &tempfile::TempDir) -> RuleFile {
        RuleFile::new(Layer::User, folder.path().join("home/rules.toml"))
    }

    #[test]
    fn comments_and_order_stay() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        let mut rule = RuleText::new(Verdict::Deny, "Edit(./a \"b\"/**)");
        rule.reason = Some("two\nlines".to_owned());
        add_rules(&place, &[rule.clone()]).unwrap();
        let mode = fs::metadata(&place.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = format!("# mine\n{}\n# the end", fs::read_to_string(&place.path).unwrap());
        fs::write(&place.path, &text).unwrap();
        let second = RuleText::new(Verdict::Ask, "Edit");
        let change = add_rules(&place, &[rule.clone(), second.clone()]).unwrap();
        assert_eq!(change.before, text);
        assert_eq!(change.after, format!("{text}\n\n{}", to_toml(&second)));
        assert_eq!(fs::read_to_string(&place.path).unwrap(), change.after);
        assert_eq!(place.rules().unwrap()[0].text, rule);
        let change = write_rules(&place, |text| remove_rule(&place, text, 1)).unwrap();
        assert!(
            change.after.starts_with("# mine\n[[rules]]\neffect = \"deny\""),
            "{}",
            change.after
        );
        assert_eq!(place.rules().unwrap().len(), 1);
        assert!(write_rules(&place, |text| remove_rule(&place, text, 1)).is_err());
        write_rules(&place, |text| remove_rule(&place, text, 0)).unwrap();
        assert!(place.rules().unwrap().is_empty());
        // No temporary file remains.
        assert_eq!(fs::read_dir(folder.path().join("home")).unwrap().count(), 1);
    }

    #[test]
    fn an_inline_list_stays_one() {
        let place = RuleFile::new(Layer::User, "r.toml");
        let text = "rules = [{ effect = \"deny\", rule = \"Edit\" }] # all\n";
        let after = append_rules(&place, text, &[RuleText::new(Verdict::Ask, "Read")]).unwrap();
        assert!(after.starts_with("rules = [{ effect = \"deny\", rule = \"Edit\" }, {"), "{after}");
        assert!(after.ends_with("] # all\n"), "{after}");
        let after = remove_rule(&place, &after, 0).unwrap();
        assert!(!after.contains("Edit") && after.contains("Read"), "{after}");
    }

    #[test]
    fn a_link_of_a_workspace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target.toml");
        fs::write(&target, "").unwrap();
        let link = folder.path().join("rules.toml");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let rule = [RuleText::new(Verdict::Deny, "Edit")];
        for (layer, works) in
            [(Layer::Untrusted, false), (Layer::Project, false), (Layer::User, true)]
        {
            assert_eq!(add_rules(&RuleFile::new(layer, &link), &rule).is_ok(), works, "{layer:?}");
        }
        assert!(link.is_symlink());
        assert!(fs::read_to_string(&target).unwrap().contains("Edit"));
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        std::thread::scope(|scope| {
            for at in 0..8 {
                let place = &place;
                scope.spawn(move || {
                    add_rules(place, &[RuleText::new(Verdict::Deny, format!("Read(./{at})"))])
                        .unwrap();
                });
            }
        });
        assert_eq!(place.rules().unwrap().len(), 8);
    }
}
