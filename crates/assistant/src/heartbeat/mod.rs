//! The heartbeat: a regular request that asks a model whether something needs attention.
//!
//! The owner's configuration determines whether, how often and in which hours it runs; no tool
//! changes that. Each heartbeat is an execution of a task of its own kind, so that claims, recovery
//! and history work as for tasks. Its prompt is a pure function of its input.

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
