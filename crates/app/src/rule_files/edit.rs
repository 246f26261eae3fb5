//! Changes files of rules, and leaves alone what is not changed: comments and order stay.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toml_edit::{DocumentMut, Item, Value};
use toolcrib_engine::rules::{Layer, RuleSet, RuleText, Written};

use super::anchor;
use super::error::RulesError;
use super::place::Place;
use super::read::{identity, parse};
use crate::LockedFile;

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text before; empty = there was none.
    pub before: String,
    /// Its text after.
    pub after: String,
}

/// The text of a file with these rules at its end. Those that it has already are left out.
///
/// # Errors
/// [`RulesError`]: the file is broken, or it would be one that cannot be used.
pub fn append(place: &Place, text: &str, rules: &[RuleText]) -> Result<String, RulesError> {
    let known: Vec<_> =
        parse(&place.path, text, place.layer)?.iter().map(|rule| identity(&rule.text)).collect();
    let mut document = document(&place.path, text)?;
    let mut after = text.to_owned();
    for rule in rules.iter().filter(|rule| !known.contains(&identity(rule))) {
        match document.get_mut("rules").and_then(Item::as_array_mut) {
            Some(array) => {
                let table = document_of(rule)?;
                array.push(Value::InlineTable(table.into_inline_table()));
                after = document.to_string();
            }
            None => {
                after = format!("{}{}", ended(after), to_toml(rule));
            }
        }
    }
    let written = parse(&place.path, &after, place.layer)?;
    RuleSet::compile(written).map_err(RulesError::Refused)?;
    Ok(after)
}

/// A text that ends with an empty line, unless it is empty.
fn ended(mut text: String) -> String {
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

/// A rule as a file has it.
#[must_use]
pub fn to_toml(rule: &RuleText) -> String {
    #[derive(Serialize)]
    struct One<'a> {
        rules: [&'a RuleText; 1],
    }
    // Text, lists of text and a truth value: there is nothing that TOML cannot say.
    toml::to_string(&One { rules: [rule] }).unwrap_or_default()
}

fn document_of(rule: &RuleText) -> Result<toml_edit::Table, RulesError> {
    let document = document(Path::new(""), &to_toml(rule))?;
    let table =
        document.get("rules").and_then(Item::as_array_of_tables).and_then(|rules| rules.get(0));
    Ok(table.cloned().unwrap_or_default())
}

fn document(path: &Path, text: &str) -> Result<DocumentMut, RulesError> {
    text.parse().map_err(|error: toml_edit::TomlError| RulesError::Malformed {
        path: path.to_path_buf(),
        line: super::read::line_of(text, error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })
}

/// The text of a file without the rule at this place, from 0; the comments directly above it go with it. A file that stays broken may be
/// written: that is how it is repaired.
///
/// # Errors
/// [`RulesError`]: it is no TOML, or there is no such rule.
pub fn remove(place: &Place, text: &str, index: usize) -> Result<String, RulesError> {
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
        _ => {
            let what = format!("there is no rule number {}", index + 1);
            return Err(RulesError::Malformed { path: place.path.clone(), line: 1, what });
        }
    };
    if gone {
        document.remove("rules");
    }
    Ok(document.to_string())
}

/// Changes a file, and nobody else does at the same time. It is written beside its place and put there whole; a new one is for its owner
/// alone (mode 0600).
///
/// # Errors
/// [`RulesError`]; the file is then as it was.
pub fn store(
    place: &Place,
    change: impl FnOnce(&str) -> Result<String, RulesError>,
) -> Result<Change, RulesError> {
    let unwritable = |error| RulesError::Unwritable { path: place.path.clone(), error };
    let path = real(place).map_err(unwritable)?;
    let file = LockedFile::wait(path).map_err(unwritable)?;
    let before = place.text()?;
    let after = change(&before)?;
    if before != after {
        file.replace(&after).map_err(unwritable)?;
    }
    Ok(Change { path: place.path.clone(), before, after })
}

/// The file itself: a person may keep theirs elsewhere and link to it. A link that a workspace brings along could lead to anything.
fn real(place: &Place) -> io::Result<PathBuf> {
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

/// A rule that means the same in a file anywhere.
#[must_use]
pub fn portable(rule: &Written) -> RuleText {
    let file = rule.origin.rsplit_once(':').map_or("", |(file, _)| file);
    RuleText { rule: anchor::at_home(&rule.text.rule, Path::new(file), None), ..rule.text.clone() }
}

/// Adds rules to a file.
///
/// # Errors
/// [`RulesError`]: the file cannot be used as it is, or could not be with them; it is then as it was.
pub fn add(place: &Place, rules: &[RuleText]) -> Result<Change, RulesError> {
    store(place, |text| append(place, text, rules))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use toolcrib_core::Verdict;
    use toolcrib_engine::rules::Layer;

    use super::super::foreign::plain;
    use super::{Place, add, append, remove, store, to_toml};

    fn place(folder: &tempfile::TempDir) -> Place {
        Place::new(Layer::User, folder.path().join("home/rules.toml"))
    }

    #[test]
    fn comments_and_order_stay() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        let mut rule = plain(Verdict::Deny, "Edit(./a \"b\"/**)");
        rule.reason = Some("two\nlines".to_owned());
        add(&place, &[rule.clone()]).unwrap();
        let mode = fs::metadata(&place.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = format!("# mine\n{}\n# the end", fs::read_to_string(&place.path).unwrap());
        fs::write(&place.path, &text).unwrap();
        let second = plain(Verdict::Ask, "Edit");
        let change = add(&place, &[rule.clone(), second.clone()]).unwrap();
        assert_eq!(change.before, text);
        assert_eq!(change.after, format!("{text}\n\n{}", to_toml(&second)));
        assert_eq!(fs::read_to_string(&place.path).unwrap(), change.after);
        assert_eq!(place.rules().unwrap()[0].text, rule);
        let change = store(&place, |text| remove(&place, text, 1)).unwrap();
        assert!(
            change.after.starts_with("# mine\n[[rules]]\neffect = \"deny\""),
            "{}",
            change.after
        );
        assert_eq!(place.rules().unwrap().len(), 1);
        assert!(store(&place, |text| remove(&place, text, 1)).is_err());
        store(&place, |text| remove(&place, text, 0)).unwrap();
        assert!(place.rules().unwrap().is_empty());
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(folder.path().join("home")).unwrap().count(), 1);
    }

    #[test]
    fn an_inline_list_stays_one() {
        let place = Place::new(Layer::User, "r.toml");
        let text = "rules = [{ effect = \"deny\", rule = \"Edit\" }] # all\n";
        let after = append(&place, text, &[plain(Verdict::Ask, "Read")]).unwrap();
        assert!(after.starts_with("rules = [{ effect = \"deny\", rule = \"Edit\" }, {"), "{after}");
        assert!(after.ends_with("] # all\n"), "{after}");
        let after = remove(&place, &after, 0).unwrap();
        assert!(!after.contains("Edit") && after.contains("Read"), "{after}");
    }

    #[test]
    fn a_link_of_a_workspace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target.toml");
        fs::write(&target, "").unwrap();
        let link = folder.path().join("rules.toml");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let rule = [plain(Verdict::Deny, "Edit")];
        for (layer, works) in
            [(Layer::Untrusted, false), (Layer::Project, false), (Layer::User, true)]
        {
            assert_eq!(add(&Place::new(layer, &link), &rule).is_ok(), works, "{layer:?}");
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
                    add(place, &[plain(Verdict::Deny, format!("Read(./{at})"))]).unwrap();
                });
            }
        });
        assert_eq!(place.rules().unwrap().len(), 8);
    }
}
