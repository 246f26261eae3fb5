//! Operations on saved scripts (chains).

mod files;
mod list;
mod put;
mod remove;
mod row;
mod show;

pub use list::list;
pub use put::{PutChainReply, PutChainRequest, put};
pub use remove::{RemoveChainRequest, RemovedChain, remove};
pub use row::{ChainDetails, ChainRow};
pub use show::show;
