//! Rule files: paths, parsing, editing, and import from other programs.
//!
//! Invariants
//! - A file is loaded as a whole or not at all: an unknown key, a wrong type or an unusable rule is
//!   an error with file and line.
//! - A missing file has no rules; an unreadable one is an error, never "no rules".
//! - Files of other programs are only read.
//!
//! Out of scope: the meaning of rules (`engine`), and the paths of a user's files (the caller).

mod anchor_paths;
mod claude;
mod codex;
mod edit;
mod error;
mod parser;
mod rule_file;
mod rule_import;
mod starlark;

pub use claude::to_claude;
pub use edit::{
    FileChange, add_rules, append_rules, enforce_rule, remove_rule, to_portable, to_toml,
    write_rules,
};
pub use error::RulesError;
pub use parser::{parse_any_format, parse_rules};
pub use rule_file::{RuleFile, compile_files, read_rules};
pub use rule_import::{ImportFormat, ImportResult, ImportedFile, Skipped, import_rules};
