//! Splits identifiers into words: `getHTTPHeaders` and `get_http_headers` become equal.
//!
//! The embedding model was trained on texts split by exactly these rules (`split_ident` in
//! `model/make_model.py`), so changing them requires a new model.

/// Returns whether the character joins words in an identifier and becomes a space.
fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '{' | '}' | '[' | ']' | '|' | '#' | '@')
}

/// Appends `text` with its identifiers split: at joints, at `aB`, at `ABc`, and between a letter
/// and two or more digits. Whitespace is collapsed to one space and trimmed at both ends.
pub(crate) fn split_into(text: &str, out: &mut String) {
    let start = out.len();
    let mut chars = text.chars().peekable();
    // The preceding character of the input.
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if is_joint(c) || c.is_whitespace() {
            space(out, start);
        } else {
            let next = chars.peek().copied();
            if is_boundary(before, c, next) || is_number(before, c, next) {
                space(out, start);
            }
            out.push(c);
        }
        before = c;
    }
    if out.len() > start && out.ends_with(' ') {
        out.pop();
    }
}

/// Returns the split text as a new string.
pub(crate) fn split(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    split_into(text, &mut out);
    out
}

fn space(out: &mut String, start: usize) {
    if out.len() > start && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Returns whether a word of an identifier starts at `c`.
fn is_boundary(before: char, c: char, next: Option<char>) -> bool {
    c.is_ascii_uppercase()
        && (before.is_ascii_lowercase()
            || before.is_ascii_digit()
            || (before.is_ascii_uppercase() && next.is_some_and(|n| n.is_ascii_lowercase())))
}

/// Returns whether a number of two or more digits starts at `c`.
fn is_number(before: char, c: char, next: Option<char>) -> bool {
    before.is_ascii_alphabetic() && c.is_ascii_digit() && next.is_some_and(|n| n.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn identifiers_are_split_as_in_training() {
        for (text, expected) in [
            ("get_http_headers", "get http headers"),
            ("getHTTPHeaders", "get HTTP Headers"),
            ("GitHub", "Git Hub"),
            ("read-file.v2", "read file v2"),
            ("base64Encode", "base 64 Encode"),
            ("md5", "md5"),
            ("sha256", "sha 256"),
            ("5G", "5 G"),
            ("  two \t blanks\n", "two blanks"),
            ("server/{id}:get[x]|y#z@a", "server id get x y z a"),
            ("__", ""),
            ("", ""),
            ("naïveÜber größe", "naïveÜber größe"),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
