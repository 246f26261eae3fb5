//! The argument decoder: converts a model's text into one JSON object, validated against a tool's
//! schema.
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! [`decode()`] runs `unwrap_text` (encoding, fence, double encoding), `surroundings` (words and
//! lost braces around text that is not JSON), `parser` (strict JSON and the repairs) and
//! `fit_to_schema` (conversions, defaults); `jsonschema` validates before and after, and
//! `error_message` explains a failure. [`Schema`] is checked once, by `schema_check` and
//! `schema_cost`, and compiled at first use.
//!
//! # Invariants
//!
//! - One reading or none: if a repair or a conversion has two candidates, neither is applied.
//! - Text that is valid JSON takes only the strict branches, so it has its standard meaning.
//! - Each change is reported, and nothing else changes a value. Defaults do not count as changes.
//! - Work is linear in the input and bounded for every schema that [`Schema::check`] accepts.
//! - No I/O, no clock, no global state: equal input gives equal output.
#![deny(clippy::indexing_slicing)]

mod argument_error;
mod changes;
mod decode;
mod error_message;
mod fit_to_schema;
mod number;
mod object_parser;
mod parser;
mod scalar_conversion;
mod scalar_parser;
mod schema;
mod schema_check;
mod schema_cost;
mod schema_plan;
mod schema_references;
mod string_parser;
mod suggest;
mod surroundings;
mod trailing_text;
mod type_set;
mod unwrap_text;
mod value_preview;
mod value_size;

#[cfg(test)]
mod tests;

pub use changes::{Change, ChangeKind, MAX_CHANGES};
pub use decode::{Decoded, Limits, decode, decode_value};
pub use error_message::{CORRECT_AND_RETRY, MAX_MESSAGE_BYTES};
pub use parser::parse_strict;
pub use schema::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, Schema, SchemaError};
pub use unwrap_text::MAX_ENCODINGS;
