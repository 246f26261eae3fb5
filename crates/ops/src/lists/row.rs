//! A list in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::list::{List, ListError};
use toolcrib_assistant::{RowError, Writer};
use toolcrib_core::Author;

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "List")]
pub struct ListReply {
    /// Its name.
    pub name: String,
    /// Its items in order; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<ListItemReply>>,
    /// Number of items that are not checked.
    pub open: usize,
    /// Number of items that are checked.
    pub checked: usize,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListItem")]
pub struct ListItemReply {
    /// Its text.
    pub text: String,
    /// Whether it is done.
    pub checked: bool,
    /// Source of the text, if that is untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl ListReply {
    pub(super) fn new(ctx: &StoreContext<'_>, list: List) -> Self {
        let open = list.items.iter().filter(|item| !item.checked).count();
        let checked = list.items.len() - open;
        let items = list.items.into_iter().map(|item| ListItemReply {
            text: item.text,
            checked: item.checked,
            untrusted: item.untrusted,
        });
        Self {
            name: list.name,
            items: ctx.shows_payloads.then(|| items.collect()),
            open,
            checked,
            created_at: list.created_at,
            updated_at: list.updated_at,
        }
    }
}

/// Returns the person that changes rows; the text counts as theirs.
pub(crate) fn writer(ctx: &StoreContext<'_>) -> Writer {
    Writer { owner: ctx.owner.to_owned(), author: Author::person(ctx.actor), untrusted: None }
}

impl From<RowError> for OpError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Store(error) => Self::Store(error),
            RowError::NothingToUndo => Self::Gone(error.to_string()),
            RowError::Contended(_) => Self::Conflict(error.to_string()),
        }
    }
}

impl From<ListError> for OpError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Row(error) => error.into(),
            ListError::Unknown { name, near } => {
                Self::NotFound { what: Resource::List, name, near }
            }
            ListError::Exists(_) | ListError::TooManyItems | ListError::TooManyLists => {
                Self::Conflict(error.to_string())
            }
            ListError::NoLists
            | ListError::BadName
            | ListError::BadItem(_)
            | ListError::NoItems
            | ListError::NoSuchItems { .. }
            | ListError::Secret
            | ListError::Time(_) => Self::Invalid(error.to_string()),
        }
    }
}
