//! The argument decoder: the text a model wrote, and a tool's schema, to one checked JSON object.
//!
//! The rule is *one reading or none*. A text is repaired only where every reader would agree on what was
//! meant, a value is converted only where nothing is lost, and each such change is reported. Everything
//! else is an error whose text tells the model what to send instead. A value is never guessed, never
//! dropped without a word, and unparsable text never becomes `{}`.
//!
//! **Repairs of the text** ([`ChangeKind`] names each): byte-order mark; whitespace around the text; one
//! Markdown fence around all of it; an object encoded as a JSON string (up to [`MAX_ENCODINGS`] times);
//! trailing commas; `True`, `False`, `None`; single-quoted strings (they end at the first `'` that no
//! backslash escapes); unquoted identifiers as keys; `//` and `/* */` comments; raw control characters in
//! strings, kept as they are; an escape that JSON does not know, such as `\d`, read as a backslash if the
//! same string holds no other backslash that could be read two ways; a duplicate key with an equal value;
//! a missing last brace after a complete value that is not a number. Empty or blank text is `{}` without a
//! repair, the text `null` is `{}` with one.
//!
//! **Never repaired**: text cut inside a value, a number at the end of cut text, missing commas, `NaN`,
//! `+1`, `01`, `.5`, integers outside 64 bits, invalid UTF-8, lone surrogates, two objects, prose around
//! the object, duplicate keys that differ. A text that was cut exactly after a complete member looks like
//! one whose last brace is missing; only the caller knows whether the model stopped early (a finish reason
//! of `length`), and must not decode then.
//!
//! **Conversions led by the schema**, at every depth, only where the value as it is does not validate:
//! `"5"` to `5` and `"5.5"` to `5.5` (canonical decimals), `5.0` to `5`, `"true"` and `"True"` to `true`,
//! an integer to the string of its digits, a string that holds JSON of the required array or object type
//! to that value, a scalar to an array of one, an enum value that differs in ASCII case only, `null` of an
//! optional property to its absence, and `{"arguments": {...}}` to its content. With two candidates
//! nothing is converted. Then defaults are filled in, which is not a change.
//!
//! Work is linear in the input: one pass over the text, depth bounded by [`Limits::max_depth`] and by what
//! the schema's own recursion allows ([`Schema`]), trial conversions under `anyOf` and `oneOf` paid from a
//! budget proportional to the value. A fuzz target needs nothing but [`decode`] on bytes.
#![deny(clippy::indexing_slicing)]

mod change;
mod coerce;
mod convert;
mod cost;
mod decode;
mod fault;
mod measure;
mod message;
mod nearest;
mod number;
mod parse;
mod plan;
mod read;
mod references;
mod schema;
mod shape;
mod string;
mod text;
mod types;

#[cfg(test)]
mod tests;

pub use change::{Change, ChangeKind, MAX_CHANGES};
pub use decode::{Decoded, Limits, decode, decode_value};
pub use message::MAX_MESSAGE_BYTES;
pub(crate) use parse::parse_strict;
pub use read::MAX_ENCODINGS;
pub use schema::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, Schema, SchemaError};
