//! Files inside roots: opens confined by the kernel, atomic writes, bounded walks, and the journal that undoes changes.
//!
//! Everything works on descriptors: a path is resolved once, below a root that was opened once, and what follows uses the
//! descriptor of the parent folder and one name. No path text is ever resolved a second time.

mod batch;
pub mod beneath;
pub mod change;
pub mod error;
mod ignored;
pub mod journal;
mod lexical;
pub mod read;
pub mod roots;
mod session;
mod snapshot;
pub mod sweep;
mod tree;
mod undo;
pub mod walk;
mod write;

pub use beneath::{Last, Node, Spot, Via};
pub use change::Workspace;
pub use error::{Fault, FsError};
pub use journal::{Entry as JournalEntry, Journal, JournalError};
pub use roots::{RootError, Roots};
pub use undo::{UndoReport, Undone};
