//! The agent loop: a model, its tools and a person, until the answer is complete.
//!
//! [`machine`] is the loop as plain data without I/O; [`driver`] performs its steps. Around them:
//! [`context`] decides which part of a conversation is sent, [`prompt`] writes the system prompt,
//! [`library`] reads agents, skills, kits and guides from files, [`events`] reports progress.
//!
//! Invariants
//! - Each call of a model has exactly one result before the next request is written, regardless of
//!   events in between.
//! - A run can be stored at every step and completed by another process.
//! - Tools are reached through [`toolcrib_core::Invoker`] alone; a retry repeats a request to a
//!   model, never a tool.
//! - Trimming and compaction change the data that is sent, never the data that is stored.
//! - Arguments of an incomplete answer never run.
//!
//! Intentionally out of scope: HTTP, the engine, the terminal, any database.

pub mod ask_user;
pub mod context;
pub mod driver;
pub mod events;
pub mod library;
pub mod machine;
pub mod prompt;
pub mod tool_selection;
