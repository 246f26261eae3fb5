//! Operations on lists.

mod change;
mod delete;
mod history;
mod list;
mod row;
mod show;
mod undo;

pub use change::{ChangeListRequest, ChangedList, ListAction, change};
pub use delete::{DeleteListRequest, delete};
pub use history::{ListHistory, ListHistoryReply, ListHistoryRequest, history};
pub use list::{ListListsRequest, list};
pub(crate) use row::writer;
pub use row::{ListItemReply, ListReply};
pub use show::{ShowListRequest, show};
pub use undo::{UndoListRequest, UndoneList, undo};
