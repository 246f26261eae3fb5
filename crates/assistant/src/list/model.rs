//! A list and its items: pure changes.

use serde::{Deserialize, Serialize};
use toolcrib_core::similar_names::similar_names;

use super::error::ListError;
use super::request::{ListChange, ListChanged};

/// Maximum characters of a name.
pub const MAX_NAME_CHARS: usize = 100;
/// Maximum characters of an item, which is one line.
pub const MAX_ITEM_CHARS: usize = 200;
/// Maximum items of a list: lists are shown completely, and earlier states are stored.
pub const MAX_ITEMS: usize = 500;

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem {
    /// Its text.
    pub text: String,
    /// Whether it is done.
    pub checked: bool,
    /// Unix time in milliseconds.
    pub added_at: i64,
    /// The source of the text, if it is untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// Its name, in its first spelling.
    pub name: String,
    /// The items in the order of addition.
    pub items: Vec<ListItem>,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Time of the last change, Unix time in milliseconds.
    pub updated_at: i64,
    /// The source of the name, if it is untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl List {
    /// Creates an empty list.
    pub(super) fn new(name: &str, at: i64, untrusted: Option<String>) -> Self {
        let name = one_line(name);
        Self { name, items: Vec::new(), created_at: at, updated_at: at, untrusted }
    }

    /// Returns the source that makes the list untrusted: that of its name or of an item.
    #[must_use]
    pub fn outside_source(&self) -> Option<&str> {
        let items = self.items.iter().map(|item| &item.untrusted);
        std::iter::once(&self.untrusted).chain(items).find_map(Option::as_deref)
    }

    /// Applies a change of the items.
    pub(super) fn apply(
        &mut self,
        change: &ListChange,
        at: i64,
        untrusted: Option<&str>,
    ) -> Result<ListChanged, ListError> {
        let mut changed = ListChanged::default();
        match change {
            ListChange::Add(items) => self.add(items, at, untrusted, &mut changed)?,
            ListChange::Clear => {
                changed.done = self.items.drain(..).map(|item| item.text).collect();
            }
            ListChange::Remove(items) => {
                for text in self.named(items, &mut changed)? {
                    self.items.retain(|item| item.text != text);
                    changed.done.push(text);
                }
            }
            ListChange::Check(items) | ListChange::Uncheck(items) => {
                let checked = matches!(change, ListChange::Check(_));
                for text in self.named(items, &mut changed)? {
                    let found = self.items.iter_mut().find(|item| item.text == text);
                    let Some(item) = found else { continue };
                    let is_news = item.checked != checked;
                    item.checked = checked;
                    if is_news { &mut changed.done } else { &mut changed.already }.push(text);
                }
            }
        }
        if !changed.done.is_empty() {
            self.updated_at = at;
        }
        Ok(changed)
    }

    /// Adds items; an item that is checked is unchecked instead, so that it is open again.
    fn add(
        &mut self,
        items: &[String],
        at: i64,
        untrusted: Option<&str>,
        changed: &mut ListChanged,
    ) -> Result<(), ListError> {
        for text in items.iter().map(|text| one_line(text)) {
            match self.items.iter_mut().find(|item| folded(&item.text) == folded(&text)) {
                Some(item) if item.checked => {
                    item.checked = false;
                    changed.done.push(item.text.clone());
                }
                Some(item) => changed.already.push(item.text.clone()),
                None => {
                    let untrusted = untrusted.map(str::to_owned);
                    changed.done.push(text.clone());
                    self.items.push(ListItem { text, checked: false, added_at: at, untrusted });
                }
            }
        }
        if self.items.len() > MAX_ITEMS { Err(ListError::TooManyItems) } else { Ok(()) }
    }

    /// Finds the texts of items by their names, ignoring case; unknown names are added to
    /// `changed`.
    fn named(&self, names: &[String], changed: &mut ListChanged) -> Result<Vec<String>, ListError> {
        let mut found: Vec<String> = Vec::new();
        for name in names {
            match self.items.iter().find(|item| folded(&item.text) == folded(name)) {
                Some(item) if found.contains(&item.text) => {}
                Some(item) => found.push(item.text.clone()),
                None => changed.missing.push(one_line(name)),
            }
        }
        if found.is_empty() {
            let first = changed.missing.first().map(String::as_str).unwrap_or_default();
            let trusted = self.items.iter().filter(|item| item.untrusted.is_none());
            let near = similar_names(first, trusted.map(|item| item.text.as_str()));
            return Err(ListError::NoSuchItems {
                list: self.name.clone(),
                near: near.into_iter().map(str::to_owned).collect(),
                items: std::mem::take(&mut changed.missing),
            });
        }
        Ok(found)
    }
}

/// Returns the form by which names are compared: without case, and with single spaces.
pub(super) fn folded(name: &str) -> String {
    one_line(name).to_lowercase()
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks the name of a list.
pub(super) fn check_name(name: &str) -> Result<(), ListError> {
    if is_line(name, MAX_NAME_CHARS) { Ok(()) } else { Err(ListError::BadName) }
}

/// Checks the texts of items.
pub(super) fn check_items(items: &[String]) -> Result<(), ListError> {
    if items.is_empty() {
        return Err(ListError::NoItems);
    }
    if items.len() > MAX_ITEMS {
        return Err(ListError::TooManyItems);
    }
    match items.iter().find(|item| !is_line(item, MAX_ITEM_CHARS)) {
        None => Ok(()),
        Some(bad) => Err(ListError::BadItem(shown(bad))),
    }
}

/// Returns whether the text is a single line: not empty, not too long, without control characters.
fn is_line(text: &str, chars: usize) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().count() <= chars && !text.chars().any(char::is_control)
}

/// Escapes a text for an error message; it may be any text.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}
