//! Operations on kits.

mod kit;
mod list;
mod show;

pub use kit::{KitReply, KitStep};
pub use list::{ListKitsReply, list};
pub use show::{ShowKitRequest, show};
