//! Safe display of untrusted text (from a model, a tool, a server or a file) to people who decide,
//! in a terminal, a dialog of an MCP client or a page. The escaped text cannot move the cursor,
//! hide a character, reverse the reading direction or imitate a line of Toolcrib.
//!
//! Every surface on which a person decides uses these functions. They are idempotent: escaping text
//! twice has the same result as escaping it once.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes every control character and every character without a glyph as `\u{…}`. Line breaks and
/// tabs stay unchanged.
#[must_use]
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    let Some(first) = first_hidden(text) else { return Cow::Borrowed(text) };
    let (kept, rest) = text.split_at_checked(first).unwrap_or(("", text));
    let mut clean = String::with_capacity(text.len() + 16);
    clean.push_str(kept);
    let mut previous = kept.chars().next_back();
    for c in rest.chars() {
        if is_hidden(c, previous) {
            // Writing to a String cannot fail.
            let _ = write!(clean, "\\u{{{:x}}}", c as u32);
        } else {
            clean.push(c);
        }
        previous = Some(c);
    }
    Cow::Owned(clean)
}

/// Escapes the text like the function above and replaces line breaks and tabs by spaces, so that
/// the text cannot forge a line of the question that shows it.
#[must_use]
pub fn escape_to_line(text: &str) -> String {
    escape_controls(text).replace(['\n', '\t'], " ")
}

fn first_hidden(text: &str) -> Option<usize> {
    let mut previous = None;
    for (at, c) in text.char_indices() {
        if is_hidden(c, previous) {
            return Some(at);
        }
        previous = Some(c);
    }
    None
}

/// Returns whether the character is invisible or changes how other text is displayed.
fn is_hidden(c: char, previous: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        // Emoji and some scripts need joiners and variation selectors; after an ASCII character, or
        // after another hidden one, they only make two texts look the same.
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => previous
            .is_none_or(|before| before.is_ascii() || is_ignorable(before) && before != '\u{fe0f}'),
        c => c.is_control() || is_ignorable(c),
    }
}

/// Returns whether the character has no glyph: default-ignorable code points and format characters
/// (Unicode 16, DerivedCoreProperties), line and paragraph separators and noncharacters.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// Returns the purpose of a tool, which is the beginning of its description up to the first end of
/// a sentence, colon or semicolon. A dot inside a word, as in `config.toml` or `e.g.`, does not end
/// it.
#[must_use]
pub fn first_sentence(description: &str) -> &str {
    let text = description.trim();
    let ends = text.match_indices(['.', ':', ';']).find(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    });
    ends.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_moving_characters_are_written_out_and_the_rest_stays() {
        let check = |text: &str, expected: &str| {
            assert_eq!(escape_controls(text), expected);
            assert_eq!(escape_controls(expected), expected, "twice");
        };
        check("plain\n\ttext äß 👩‍🚒 ❤️ می‌خواهم", "plain\n\ttext äß 👩‍🚒 ❤️ می‌خواهم");
        check("a\u{1b}[2Jb", "a\\u{1b}[2Jb");
        check("a\rb", "a\\u{d}b");
        check("\u{9b}31m", "\\u{9b}31m");
        check("gpj\u{202e}exe", "gpj\\u{202e}exe");
        check("in\u{200b}visible\u{e0041}", "in\\u{200b}visible\\u{e0041}");
        check("pass\u{200d}wd \u{200c}x", "pass\\u{200d}wd \\u{200c}x");
        check("a\u{fe00}\u{3164}\u{e0100}", "a\\u{fe00}\\u{3164}\\u{e0100}");
        check("é\u{200d}\u{200d}x", "é\u{200d}\\u{200d}x");
        assert_eq!(escape_to_line("a\nb\u{2028}c"), "a b\\u{2028}c");
    }
}
