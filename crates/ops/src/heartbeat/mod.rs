//! Operations on the heartbeat.

mod run;
mod show;
mod tell;

pub use run::run;
pub use show::{HeartbeatReply, show};
pub use tell::{ArrivalKind, ArrivalReply, TellHeartbeatRequest, tell};
