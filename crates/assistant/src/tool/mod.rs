//! Tools of the assistant, one file per tool, and shared parts.
//!
//! - `definition`: the base of their definitions.
//! - `assistant_tools`: the data that they use.
//! - `source`: all of them as a source for the registry.

mod assistant_tools;
mod cancel_task;
mod create_calendar_event;
mod definition;
mod document;
mod goal_pursuit;
mod goals;
mod list;
mod list_tasks;
mod memory_forget;
mod memory_learn;
mod memory_recall;
mod memory_reinforce;
mod memory_store;
mod promote_learning;
mod rich_render;
mod schedule_task;
mod send_notification;
mod set_alarm;
mod source;

pub use assistant_tools::{AssistantTools, author as author_of};
pub use definition::SOURCE;
pub use source::specs;

#[cfg(test)]
mod tests;
