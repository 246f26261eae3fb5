//! Operations on the kill switch: no tool runs on any daemon until a person releases it. It
//! consists of a file, which stops every process of this machine at once, and a row in the store,
//! which the daemons of other machines read.

mod context;
mod engage;
mod release;
mod show;
mod stopped_calls;

pub use context::{KillSwitchContext, ToolProcess};
pub use engage::{EngageReply, EngageRequest, StopBody, engage};
pub use release::{ReleaseReply, ReleaseRequest, release};
pub use show::{KillSwitchStatus, show};
pub use stopped_calls::StoppedCall;
