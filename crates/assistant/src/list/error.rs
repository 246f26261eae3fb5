//! Errors of operations on lists.

use toolcrib_core::{StoreError, ToolError};

use super::lists::MAX_LISTS;
use super::model::{MAX_ITEM_CHARS, MAX_ITEMS, MAX_NAME_CHARS};
use crate::rows::{RowError, near_names};
use crate::time::TimeError;

/// Why an operation on lists failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// No list has this name.
    #[error("There is no list \"{name}\".{}", near_names(near))]
    Unknown {
        /// The name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// There are no lists.
    #[error("There is no list yet. Give a name: adding to a new name makes the list.")]
    NoLists,
    /// A list with this name already exists.
    #[error("There is a list \"{0}\" already. Add to it, or choose another name.")]
    Exists(String),
    /// The name is invalid.
    #[error(
        "The name of a list is one line of 1 to {MAX_NAME_CHARS} characters, such as \"Groceries\". Choose another one."
    )]
    BadName,
    /// An item is invalid.
    #[error("An item is one line of 1 to {MAX_ITEM_CHARS} characters; \"{0}\" is not.")]
    BadItem(String),
    /// The request contains no items.
    #[error("There are no items. Name them in items, such as [\"milk\", \"bread\"].")]
    NoItems,
    /// None of the items is on the list.
    #[error("The list \"{list}\" has no item {}.{}", quoted(items), near_names(near))]
    NoSuchItems {
        /// The list.
        list: String,
        /// The items.
        items: Vec<String>,
        /// Similar items.
        near: Vec<String>,
    },
    /// The list is full.
    #[error(
        "A list has at most {MAX_ITEMS} items. Remove those that are done, or use a second list."
    )]
    TooManyItems,
    /// The owner has the maximum number of lists.
    #[error("There are {MAX_LISTS} lists, which is the maximum. Delete one that is done.")]
    TooManyLists,
    /// The text contains a secret.
    #[error(
        "The text contains a secret, so it was not stored: lists are shown to models. The person can keep it with `toolcrib secret set NAME`."
    )]
    Secret,
    /// A time cannot be parsed.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// The rows cannot be read or written.
    #[error(transparent)]
    Row(#[from] RowError),
}

fn quoted(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
    items.join(", ")
}

impl From<StoreError> for ListError {
    fn from(error: StoreError) -> Self {
        Self::Row(error.into())
    }
}

impl From<ListError> for ToolError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Row(RowError::Store(error)) => {
                Self::execution("The lists cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            ListError::Row(_) | ListError::NoLists => Self::execution(error.to_string()),
            error => Self::validation(error.to_string()),
        }
    }
}
