//! The loop: a model, its tools and a person, until the answer is there.
//!
//! [`machine`] is the loop as plain data without I/O; [`drive`] does what it asks for. Around them: [`context`] decides what of a
//! conversation is sent, [`prompt`] writes the system prompt, [`library`] reads agents, skills, kits and guides from files, [`events`] says
//! what happens.
//!
//! Invariants
//! - Each call of a model has exactly one result before the next request is written, whatever happened in between.
//! - A run can be stored at every step and finished by another process.
//! - Tools are reached through [`toolcrib_core::Invoker`] alone; a retry repeats a request to a model, never a tool.
//! - Trimming and compaction change what is sent, never what is kept.
//! - Arguments of an answer that did not arrive whole are never run.
//!
//! Absent on purpose: HTTP, the engine, the terminal, any database.

pub mod ask_user;
pub mod context;
pub mod drive;
pub mod events;
pub mod library;
pub mod machine;
pub mod offer;
pub mod prompt;
