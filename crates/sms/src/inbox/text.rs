//! Texts of SMS without characters that hide something.

/// Returns at most `most` characters of a text without control characters, marks of direction and
/// invisible characters; and whether anything was removed or cut.
pub(super) fn readable(text: &str, most: usize) -> (String, bool) {
    let text = text.replace("\r\n", "\n");
    let kept: String = text.chars().filter(|c| !is_hiding(*c)).collect();
    let short: String = kept.chars().take(most).collect();
    let is_changed = short.len() < text.len();
    (short, is_changed)
}

/// Returns a text on one line.
pub(super) fn line(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    readable(&words, most).0
}

/// Joiners stay: emoji and some scripts need them.
fn is_hiding(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    is_control
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, is_changed: bool) {
        assert_eq!(readable(text, 10), (expected.to_owned(), is_changed), "{text:?}");
    }

    #[test]
    fn characters_that_hide_something_are_removed() {
        check("Grüße 👩\u{200d}🚀", "Grüße 👩\u{200d}🚀", false);
        check("a\r\nb\tc", "a\nb\tc", false);
        check("\u{202e}abc\u{1b}[2J", "abc[2J", true);
        check("a\u{200b}b\u{e0041}", "ab", true);
        check("12345678901", "1234567890", true);
        assert_eq!(line("  +49\n171 \u{202e} 5 ", 60), "+49 171  5");
    }
}
