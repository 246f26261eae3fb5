//! Tool search: ranks thousands of tools for a need in natural language.
//!
//! An [`Index`] contains a [`ToolProfile`] of every tool and ranks them by shared words and by
//! meaning; the embedding [`Model`] is part of the binary. [`find_tools`] is the tool that models
//! call, [`search_jsonl`] runs batches over files.
//!
//! Invariants
//! - No function accesses files or the network, except [`Model::open`], which reads the given
//!   folder.
//! - An untrusted profile or query costs bounded time and memory and never panics.
//! - A tool below [`MIN_SCORE`] is not an answer, and callers report that instead of offering it.
//!
//! The crate does not depend on the engine or on providers.

pub mod evaluation;
pub mod find_tools;
mod index;
mod jsonl;
mod model;
mod passages;
mod quantize;
mod text;
mod tool_profile;

pub use index::{Hit, Index};
pub use jsonl::{JsonlError, read_tools, search_jsonl};
pub use model::{Model, ModelError};
pub use passages::{PassageIndex, content_words, encode_passage};
pub use tool_profile::{Parameter, ToolProfile};

/// The score below which a tool is not an answer to a query.
///
/// Measured on the evaluation data: 97 % of the correct answers score higher, and half of the best
/// hits for queries of another collection score lower. An extra tool costs a few tokens; a missing
/// one costs the answer. On 202 short needs for the built-in tools (`short_needs` in `crates/app`)
/// this threshold finds 154 of 167 and offers nothing for 28 of the 35 that no tool meets; 0.20
/// finds 148 and offers nothing for 29.
pub const MIN_SCORE: f32 = 0.18;
