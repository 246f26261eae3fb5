//! External tools: tools from a folder, `DIR/NAME/tool.toml` next to a program in any language.
//!
//! The program runs in its own folder. It reads its arguments as JSON on standard input and writes
//! its result to standard output in one of the forms described in `parse_output`; its standard
//! error is shown only when it fails. Its environment consists of `PATH`, `TOOLCRIB_CONTEXT` and
//! the configured values under their own names. It runs in its own process group, within limits,
//! but without isolation: [`LEVEL`] is the sandbox level that an approval request shows.
//!
//! Invariants
//! - A folder with an invalid tool becomes an entry with the reason
//!   ([`Entry::broken`](toolcrib_core::Entry::broken)); the other tools and the source still load.
//! - Properties that a definition omits get the strictest value: high risk, side effects, sends
//!   data out, untrusted output.
//! - The program is part of the definition ([`ToolSpec::runs`](toolcrib_core::ToolSpec::runs)): a
//!   different program is a different tool, and a program that changed after loading is not run.
//! - The registry ([`ExternalToolSource`]), the check command ([`check_folder`]) and the example
//!   ([`scaffold()`]) use the same parser, so their results agree.
//!
//! Folders whose names begin with `_` or `.` are skipped, as are plain files: they are for shared
//! code and notes.

mod definition_error;
mod fingerprint;
mod manifest;
mod parallel;
mod parameters;
mod parse_output;
mod program_digest;
mod resolve_command;
mod scaffold;
mod source;
mod toml_keys;
mod tool;
mod tool_folders;

pub use definition_error::DefinitionError;
pub use fingerprint::fingerprint;
pub use manifest::{MANIFEST, MANIFEST_BYTES};
pub use scaffold::{ScaffoldError, scaffold};
pub use source::{Config, ExternalToolSource, ToolCheck, check_folder};
pub use tool::{CONTEXT, LEVEL};

#[cfg(test)]
mod tests;
