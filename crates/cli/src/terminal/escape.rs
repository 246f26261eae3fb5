//! Text of models, tools and files as a terminal may be given it: nothing in it moves the cursor, hides or turns around what stands there.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every character that a terminal obeys, or that cannot be seen, written out as `\u{…}`. Line breaks and tabs stay.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_dangerous(c) {
            let _ = write!(clean, "\\u{{{:x}}}", c as u32);
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

/// The same in one line.
pub(crate) fn escape_to_line(text: &str) -> String {
    escape_controls(text).replace(['\n', '\t'], " ")
}

/// Controls (C0 but line break and tab, C1), line and paragraph separators, direction controls, and what has no width but joiners, which
/// emoji and some scripts need.
fn is_dangerous(c: char) -> bool {
    if c == '\n' || c == '\t' {
        return false;
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_or_hides_is_written_out_and_the_rest_stays() {
        let check = |text: &str, expected: &str| assert_eq!(escape_controls(text), expected);
        check("plain\n\ttext äß 👩‍🚒", "plain\n\ttext äß 👩‍🚒");
        check("a\u{1b}[2Jb", "a\\u{1b}[2Jb");
        check("a\rb", "a\\u{d}b");
        check("\u{9b}31m", "\\u{9b}31m");
        check("gpj\u{202e}exe", "gpj\\u{202e}exe");
        check("in\u{200b}visible\u{e0041}", "in\\u{200b}visible\\u{e0041}");
        assert_eq!(escape_to_line("a\nb\u{2028}c"), "a b\\u{2028}c");
    }
}
