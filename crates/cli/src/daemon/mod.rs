//! The daemon of this person: what it is made of here, and how the other commands find it.

pub(crate) mod client;
mod host;
mod logs;
mod notify;
mod place;
mod serve;
mod telemetry;
mod watch;

pub(crate) use place::{Place, url};
pub(crate) use serve::serve;
