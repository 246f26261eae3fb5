//! Entry point: parses a command line.

use crate::command_line::CommandLine;
use crate::interpret;

/// Parses a command line as `bash -c LINE` would. It never fails: [`CommandLine::fault`] describes
/// what was not parsed.
///
/// The cost depends on the length of the line and not on its structure; nesting deeper than 24
/// levels is a fault.
#[must_use]
pub fn parse(line: &str) -> CommandLine {
    interpret::interpret_line(line)
}
