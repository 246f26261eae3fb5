//! Positions in a text: converts between characters, as models count them, and UTF-16 code units,
//! as LSP counts them.
#![deny(clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use toolcrib_core::ToolError;

/// An LSP position: line and UTF-16 code unit, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// An LSP range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Range {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// Resolves the position of a call: a line and character from 0, or a name in that line or in the
/// complete text.
///
/// # Errors
/// `validation_error` when the position does not exist or the call is ambiguous.
pub(super) fn find(
    text: &str,
    line: Option<u32>,
    character: Option<u32>,
    symbol: Option<&str>,
) -> Result<Position, ToolError> {
    let lines = text.lines().count();
    let numbered = || (0_u32..).zip(text.lines());
    match (line, character, symbol) {
        (Some(line), Some(character), _) => {
            let content = nth_line(text, line).ok_or_else(|| no_line(line, lines))?;
            chars_to_utf16(content, character).map(|character| Position { line, character }).ok_or_else(|| {
                ToolError::validation(format!(
                    "Line {line} has {} characters, so there is none with number {character} (from 0). Give `symbol`, the name itself, instead of `character`.",
                    content.chars().count()
                ))
            })
        }
        (Some(line), None, Some(symbol)) => {
            let content = nth_line(text, line).ok_or_else(|| no_line(line, lines))?;
            // The parameter counts lines from 0, but most listings count from 1, so the neighboring
            // lines are searched too.
            let near = [Some(line), line.checked_add(1), line.checked_sub(1)].into_iter().flatten();
            let mut found = near.filter_map(|line| {
                let character = word(nth_line(text, line)?, symbol)?;
                Some(Position { line, character })
            });
            found.next().ok_or_else(|| {
                ToolError::validation(format!(
                    "{symbol} is not in line {line} (from 0), which is: {}",
                    content.trim().chars().take(200).collect::<String>()
                ))
            })
        }
        (Some(line), None, None) => {
            let content = nth_line(text, line).ok_or_else(|| no_line(line, lines))?;
            let blanks = content.chars().take_while(|c| c.is_whitespace()).count();
            Ok(Position { line, character: u32::try_from(blanks).unwrap_or(0) })
        }
        (None, _, Some(symbol)) => {
            let mut found = numbered().filter_map(|(line, content)| {
                Some(Position { line, character: word(content, symbol)? })
            });
            found.next().ok_or_else(|| {
                ToolError::validation(format!(
                    "{symbol} is not in this file. Find it with code_search."
                ))
            })
        }
        (None, _, None) => Err(ToolError::validation(
            "Say which place is meant: `line` and `character`, both from 0, or `symbol`, the name itself.",
        )),
    }
}

fn no_line(line: u32, lines: usize) -> ToolError {
    ToolError::validation(format!(
        "There is no line {line} (from 0): the file has {lines} lines. Read it again."
    ))
}

/// Returns a line of a text.
pub(super) fn nth_line(text: &str, line: u32) -> Option<&str> {
    text.lines().nth(usize::try_from(line).ok()?)
}

/// Converts a number of characters to UTF-16 code units; the end of the line is a valid position.
fn chars_to_utf16(line: &str, characters: u32) -> Option<u32> {
    let mut units = 0;
    let mut chars = line.chars();
    for _ in 0..characters {
        units += u32::try_from(chars.next()?.len_utf16()).unwrap_or(2);
    }
    Some(units)
}

/// Converts a number of UTF-16 code units to characters; a unit inside a character counts as before
/// it.
pub(super) fn utf16_to_chars(line: &str, units: u32) -> u32 {
    let mut left = units as usize;
    let fit = line.chars().take_while(|c| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    });
    u32::try_from(fit.count()).unwrap_or(u32::MAX)
}

/// Returns the UTF-16 position of a name as a whole word in a line.
fn word(line: &str, name: &str) -> Option<u32> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() {
        return None;
    }
    let (at, _) = line.match_indices(name).find(|(at, _)| {
        let before = line.get(..*at).and_then(|before| before.chars().next_back());
        let after = line.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })?;
    let before = line.get(..at)?;
    u32::try_from(before.encode_utf16().count()).ok()
}

/// Returns the byte offset of a position; past the end of a line means its end (LSP 3.17,
/// Position).
pub(super) fn byte_offset(text: &str, at: Position) -> Option<usize> {
    let mut begin = 0;
    for _ in 0..at.line {
        let rest = text.get(begin..)?;
        begin += rest.find('\n')? + 1;
    }
    let rest = text.get(begin..)?;
    let line = rest.lines().next().unwrap_or_default();
    let characters = utf16_to_chars(line, at.character) as usize;
    let bytes: usize = line.chars().take(characters).map(char::len_utf8).sum();
    Some(begin + bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "fn main() {\n    let größe = \"😀\"; größe2();\n}\n";

    #[test]
    fn places_are_found() {
        let check = |line, character, symbol, expected: (u32, u32)| {
            let found = find(TEXT, line, character, symbol).unwrap();
            assert_eq!(
                (found.line, found.character),
                expected,
                "{line:?} {character:?} {symbol:?}"
            );
        };
        check(Some(0), Some(3), None, (0, 3));
        check(Some(1), Some(18), None, (1, 19));
        check(Some(1), None, None, (1, 4));
        check(Some(1), None, Some("größe2"), (1, 22));
        check(None, None, Some("größe"), (1, 8));
        // A line number from a listing that counts from 1.
        check(Some(2), None, Some("größe"), (1, 8));
        check(Some(0), Some(11), None, (0, 11));
    }

    #[test]
    fn places_that_are_none() {
        let check = |line, character, symbol, expected: &str| {
            let error = find(TEXT, line, character, symbol).unwrap_err();
            assert!(error.message.contains(expected), "{}", error.message);
        };
        check(Some(9), Some(0), None, "the file has 3 lines");
        check(Some(0), Some(12), None, "Line 0 has 11 characters");
        check(Some(0), None, Some("nothing"), "which is: fn main() {");
        check(None, None, Some("gröSSe"), "is not in this file");
        check(None, None, None, "Say which place");
        check(None, Some(3), None, "Say which place");
        check(None, None, Some(""), "is not in this file");
    }

    #[test]
    fn bytes_of_places() {
        let check = |line, character, expected: Option<usize>| {
            assert_eq!(
                byte_offset(TEXT, Position { line, character }),
                expected,
                "{line} {character}"
            );
        };
        check(0, 3, Some(3));
        check(0, 99, Some(11));
        check(1, 19, TEXT.find("\";"));
        check(3, 0, Some(TEXT.len()));
        check(4, 0, None);
    }

    proptest! {
        #[test]
        fn any_place_is_one_or_none(text in "[ab😀\r\n]{0,20}", line in 0u32..6, character in 0u32..9) {
            if let Some(byte) = byte_offset(&text, Position { line, character }) {
                prop_assert!(text.is_char_boundary(byte));
            }
            let _ = find(&text, Some(line), Some(character), Some("a"));
        }
    }
}
