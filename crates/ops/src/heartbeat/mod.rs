//! Operations on the heartbeat.

mod run;
mod show;

pub use run::run;
pub use show::{HeartbeatReply, show};
