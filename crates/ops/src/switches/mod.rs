//! Operations on feature switches: tools, groups, sources, tiers and features.

mod list;
mod reset;
mod row;
mod set;
mod target;

pub use list::{ListSwitchesRequest, list};
pub use reset::{ResetSwitchReply, ResetSwitchRequest, reset};
pub use row::SwitchRow;
pub use set::{SetSwitchBody, SetSwitchRequest, set};
pub use target::canonical_target;
