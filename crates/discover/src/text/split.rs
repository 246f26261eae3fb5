//! Identifiers into words: `getHTTPHeaders` and `get_http_headers` say the same.
//!
//! The embedding model was trained on texts that were split by exactly these rules (`model/make_model.py`, `split_ident`), so they are
//! part of the model's contract and not a matter of taste.

/// Characters that hold an identifier together and mean a space.
fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '{' | '}' | '[' | ']' | '|' | '#' | '@')
}

/// Appends `text` with its identifiers split: at joints, at `aB`, at `ABc`, and between a letter and two or more digits. Runs of blanks
/// become one space; there is none at the ends of what is appended.
pub(crate) fn split_into(text: &str, out: &mut String) {
    let start = out.len();
    let mut chars = text.chars().peekable();
    // The character before this one, as it stands in the text.
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

/// The same as a text of its own.
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

/// Whether a word of an identifier starts at `c`.
fn is_boundary(before: char, c: char, next: Option<char>) -> bool {
    c.is_ascii_uppercase()
        && (before.is_ascii_lowercase()
            || before.is_ascii_digit()
            || (before.is_ascii_uppercase() && next.is_some_and(|n| n.is_ascii_lowercase())))
}

/// Whether a number of two or more digits starts at `c`.
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
