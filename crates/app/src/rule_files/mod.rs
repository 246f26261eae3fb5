//! Rules as files: where they stand, how they are read and changed, and how the rule files of other programs become ours.
//!
//! Invariants
//! - A file is taken as a whole or not at all: an unknown key, a wrong type or a rule that cannot work stops everything, with file and line.
//! - A file that is not there has no rules; one that cannot be read is an error, never "no rules".
//! - Files of other programs are only read.
//!
//! Absent on purpose: what a rule means (the engine's), and where a person's files are (the caller's).

mod anchor;
mod claude;
mod codex;
mod edit;
mod error;
mod foreign;
mod place;
mod read;
mod starlark;

pub use claude::to_claude;
pub use edit::{Change, add, append, portable, remove, store, to_toml};
pub use error::RulesError;
pub use foreign::{Foreign, ForeignFormat, Imported, Skipped, import};
pub use place::{Place, compile, read_all};
pub use read::{parse, parse_judged};
