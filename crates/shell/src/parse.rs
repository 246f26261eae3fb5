//! Takes a command line apart.

use crate::line::Line;
use crate::reading;

/// Takes a command line apart, as bash reads it in `bash -c LINE`. It never fails: what is not understood is said in [`Line::fault`].
///
/// Its cost grows with the length of the line and not with its shape; nesting deeper than 24 levels is a fault.
#[must_use]
pub fn parse(line: &str) -> Line {
    reading::line(line)
}
