//! Creates or changes a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::list::{ListChange, ListChanged};

use super::row::{ListReply, writer};
use crate::context::OpContext;
use crate::error::OpError;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListAction {
    /// Creates the list, with the given items.
    Create,
    /// Adds items; creates the list if it does not exist.
    Add,
    /// Removes items.
    Remove,
    /// Marks items as done.
    Check,
    /// Marks items as not done.
    Uncheck,
    /// Removes all items.
    Clear,
    /// Renames the list.
    Rename,
}

/// A change of a list.
#[derive(Debug, Clone)]
pub struct ChangeListRequest {
    /// Its name; `None` selects the list that was changed last.
    pub name: Option<String>,
    /// The action.
    pub action: ListAction,
    /// The items.
    pub items: Vec<String>,
    /// The new name, for [`ListAction::Rename`].
    pub new_name: Option<String>,
}

/// The effect of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedList {
    /// The list after the change.
    pub list: ListReply,
    /// Items that changed.
    pub changed: Vec<String>,
    /// Items that already had the requested state.
    pub already: Vec<String>,
    /// Items that are not on the list.
    pub missing: Vec<String>,
}

/// Creates or changes a list. The caller wrote the texts, so they are not untrusted.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Invalid`], [`OpError::Conflict`], [`OpError::Store`].
pub async fn change(
    ctx: &OpContext<'_>,
    request: ChangeListRequest,
) -> Result<ChangedList, OpError> {
    let (lists, writer) = (ctx.toolcrib.lists(), writer(&ctx.store));
    let ChangeListRequest { name, action, items, new_name } = request;
    let name = name.as_deref();
    let missing = |what: &str| OpError::Invalid(format!("{what} is missing"));
    let change = match action {
        ListAction::Create => {
            let name = name.ok_or_else(|| missing("the name of the list"))?;
            let list = lists.create(&writer, name, &items).await?;
            let changed = list.items.iter().map(|item| item.text.clone()).collect();
            return Ok(reply(ctx, list, ListChanged { done: changed, ..ListChanged::default() }));
        }
        ListAction::Rename => {
            let new_name = new_name.ok_or_else(|| missing("the new name"))?;
            let list = lists.rename(&writer, name, &new_name).await?;
            return Ok(reply(ctx, list, ListChanged::default()));
        }
        ListAction::Add => ListChange::Add(items),
        ListAction::Remove => ListChange::Remove(items),
        ListAction::Check => ListChange::Check(items),
        ListAction::Uncheck => ListChange::Uncheck(items),
        ListAction::Clear => ListChange::Clear,
    };
    let (list, changed) = lists.change(&writer, name, &change).await?;
    Ok(reply(ctx, list, changed))
}

fn reply(
    ctx: &OpContext<'_>,
    list: toolcrib_assistant::list::List,
    changed: ListChanged,
) -> ChangedList {
    ChangedList {
        list: ListReply::new(&ctx.store, list),
        changed: changed.done,
        already: changed.already,
        missing: changed.missing,
    }
}
