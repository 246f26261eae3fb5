//! The heartbeat: a look at what needs attention, without a person who asks.
//!
//! The owner's configuration says whether, how often and in which hours; no tool changes that. Each
//! heartbeat is one execution of a task of its own kind, so that claims, recovery and history are
//! those of tasks. Its prompt is a pure function of what there is to look at.

mod arrivals;
mod heartbeats;
mod prompt;
mod reply;
mod settings;
#[cfg(test)]
mod tests;

pub use arrivals::{Arrival, Arrivals, MAX_ARRIVALS};
pub use heartbeats::{Heartbeats, heartbeat_task_id};
pub use prompt::{DEFAULT_PROMPT, HeartbeatInput, Inbound, InboundKind, heartbeat_prompt};
pub use reply::{HEARTBEAT_OK, is_ok, push_text};
pub use settings::{HeartbeatSettings, INTERVALS, MAX_PROMPT_CHARS};
