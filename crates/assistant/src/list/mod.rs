//! Lists: shopping lists, to-do lists and others with items that can be checked.

mod error;
mod lists;
mod model;
mod request;

pub use error::ListError;
pub use lists::{Lists, MAX_LISTS};
pub use model::{List, ListItem, MAX_ITEM_CHARS, MAX_ITEMS, MAX_NAME_CHARS};
pub use request::{ListChange, ListChanged, ListHistoryEntry};
