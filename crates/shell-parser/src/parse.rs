//! Entry point: parses a command line.

use crate::command_line::{AllowBlocker, CommandLine, Kind, ParseFault, Segment};
use crate::interpret;

/// Maximum bytes of a line that is parsed: the longest argument that Linux passes to a program
/// (`MAX_ARG_STRLEN`), so no text of `bash -c` is longer.
pub const MAX_LINE_BYTES: usize = 128 * 1024;

/// Parses a command line as `bash -c LINE` would. It never fails: [`CommandLine::fault`] describes
/// what was not parsed.
///
/// The cost depends on the length of the line and not on its structure; nesting deeper than 24
/// levels is a fault, and so is a line of more than [`MAX_LINE_BYTES`].
#[must_use]
pub fn parse(line: &str) -> CommandLine {
    if line.len() > MAX_LINE_BYTES {
        return too_long(line);
    }
    interpret::interpret_line(line)
}

/// Returns a line whose content is unknown.
fn too_long(line: &str) -> CommandLine {
    let what = format!("it has more than {MAX_LINE_BYTES} bytes");
    let segment = Segment {
        text: line.to_owned(),
        kind: Kind::Command,
        readings: Vec::new(),
        blocks: vec![AllowBlocker::Unparsed(what.clone())],
    };
    CommandLine { segments: vec![segment], fault: Some(ParseFault { at: MAX_LINE_BYTES, what }) }
}
