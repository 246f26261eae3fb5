//! Finding the tool that a need asks for, among thousands that are not in the model's context.
//!
//! An [`Index`] holds a [`Profile`] of every tool and ranks them for a need in plain words, by the words they share and by their meaning;
//! the embedding [`Model`] is part of the binary. [`find_tools`] is the tool that models call, [`find_lines`] the same over files.
//!
//! Invariants
//! - Nothing here reads a file or the network, but [`Model::open`] the folder that its caller names.
//! - A hostile profile or query costs bounded time and memory, and never a panic.
//! - What is found is ranked honestly: below [`FLOOR`] a tool is no answer, and callers say so instead of offering it.
//!
//! Absent on purpose: the engine, providers, the network.

pub mod eval;
pub mod find_tools;
mod index;
mod lines;
mod model;
mod profile;
mod quantise;
mod text;

pub use index::{Hit, Index};
pub use lines::{LinesError, find_lines, read_tools};
pub use model::{Model, ModelError};
pub use profile::{Parameter, Profile};

/// The score below which a tool is no answer to a need.
///
/// Measured on the evaluation data: 97 in a hundred right answers lie above it, and half of the best hits of needs that belong to another
/// collection below. A tool too many costs some tokens, a tool that is not found costs the answer.
pub const FLOOR: f32 = 0.18;
