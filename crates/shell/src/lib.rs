//! A command line taken apart: which programs it would run, with which words, and what of that is not known before it runs.
//!
//! One parser for rules and for the risk of the shell tool. It judges nothing: it says what is there, and for whom.
//!
//! Invariants
//! - What would run is among the segments, however it is written: lists, pipes, substitutions, groups, functions, here-documents that a shell
//!   reads, and programs that run their arguments.
//! - What this crate does not understand is a [`Fault`], and then every place where a command could begin has a reading of its own: nothing
//!   is hidden by being odd, long or deep.
//!
//! Absent on purpose: rules, verdicts, files, the environment, running anything.

mod ansi_c;
mod braces;
mod grammar;
mod line;
mod parse;
mod reading;
mod token;

pub use line::{Block, Fault, Kind, Line, Reading, Segment, Word};
pub use parse::parse;
