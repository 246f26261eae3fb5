//! Requests to lists, and their results.

use toolcrib_core::Author;

/// A change of the items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListChange {
    /// Adds items, and creates the list if necessary. Checked items are unchecked.
    Add(Vec<String>),
    /// Removes items.
    Remove(Vec<String>),
    /// Marks items as done.
    Check(Vec<String>),
    /// Marks items as not done.
    Uncheck(Vec<String>),
    /// Removes all items.
    Clear,
}

impl ListChange {
    /// Returns the items that the change names.
    pub(super) fn items(&self) -> Option<&[String]> {
        match self {
            Self::Add(items) | Self::Remove(items) | Self::Check(items) | Self::Uncheck(items) => {
                Some(items)
            }
            Self::Clear => None,
        }
    }

    /// Describes the change for the history.
    pub(super) fn note(&self, changed: &ListChanged) -> String {
        let verb = match self {
            Self::Add(_) => "added",
            Self::Remove(_) => "removed",
            Self::Check(_) => "checked",
            Self::Uncheck(_) => "unchecked",
            Self::Clear => return format!("cleared {} items", changed.done.len()),
        };
        format!("{verb} {}", changed.done.join(", "))
    }
}

/// The effect of a change on the items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListChanged {
    /// Items that changed.
    pub done: Vec<String>,
    /// Items that were already in the requested state.
    pub already: Vec<String>,
    /// Items that are not on the list.
    pub missing: Vec<String>,
}

/// A change in the history of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListHistoryEntry {
    /// The change in words.
    pub note: String,
    /// Its author.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
}
