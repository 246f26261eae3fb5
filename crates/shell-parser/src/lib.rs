//! Bash command-line parser: finds the programs that a line would run, their words, and the parts
//! that are not known before it runs.
//!
//! The rules and the risk assessment of the shell tool share this parser. It makes no decisions.
//!
//! Invariants
//! - Every command that would run is among the segments, however it is written: lists, pipes,
//!   substitutions, groups, functions, here-documents that a shell reads, and programs that run
//!   their arguments.
//! - Anything that is not parsed is a [`ParseFault`], and then every position where a command could
//!   begin has its own interpretation: unusual, long or deep input hides nothing.
//!
//! The crate contains no rules and makes no decisions; it reads no files and no environment, and
//! runs nothing.

mod ansi_c_quoting;
mod brace_expansion;
mod command_line;
mod grammar;
mod interpret;
mod parse;
mod token;

pub use command_line::{
    AllowBlocker, CommandLine, Interpretation, Kind, OwnAction, OwnActionKind, ParseFault, Segment,
    Word,
};
pub use parse::{MAX_LINE_BYTES, parse};
