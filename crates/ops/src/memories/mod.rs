//! Operations on memories.

mod edit;
mod forget;
mod list;
mod row;
mod show;
mod transfer;
mod undo;

pub use edit::{EditMemoryRequest, edit};
pub use forget::{ForgetMemoryRequest, forget};
pub use list::{ListMemoriesRequest, list};
pub use row::MemoryReply;
pub use show::{ShowMemoryRequest, show};
pub use transfer::{
    ExportMemoriesRequest, ImportMemoriesRequest, ImportedMemories, export, import,
};
pub use undo::{UndoMemoryRequest, UndoneMemory, undo};
