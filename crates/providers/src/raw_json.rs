//! Raw JSON slices: finds the exact text of a value inside a JSON text.
//!
//! A parsed value has lost duplicate keys and long numbers. The decoder must receive arguments
//! exactly as the provider sent them, so their text is sliced from the body. Works only on text
//! that a JSON parser has accepted; for other text it returns `None` or a wrong slice, but never
//! panics.
#![deny(clippy::indexing_slicing)]

/// One step of a path into a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathStep<'a> {
    /// Member of an object; the last one with this name, as in parsers.
    Key(&'a str),
    /// Element of an array.
    Index(usize),
}

/// Returns the text of the value at this path.
pub(crate) fn find<'t>(text: &'t str, steps: &[PathStep<'_>]) -> Option<&'t str> {
    let mut text = text.trim();
    for step in steps {
        text = match *step {
            PathStep::Key(key) => member(text, key)?,
            PathStep::Index(index) => elements(text)?.into_iter().nth(index)?,
        };
    }
    Some(text)
}

/// Returns the text of a member of an object.
pub(crate) fn member<'t>(object: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = object.trim().strip_prefix('{')?.trim_start();
    let mut found = None;
    while rest.starts_with('"') {
        let (name, after) = split_value(rest)?;
        let (value, after) = split_value(after.trim_start().strip_prefix(':')?.trim_start())?;
        if serde_json::from_str::<String>(name).is_ok_and(|name| name == key) {
            found = Some(value);
        }
        rest = next(after);
    }
    found
}

/// Returns the texts of the elements of an array.
pub(crate) fn elements(array: &str) -> Option<Vec<&str>> {
    let mut rest = array.trim().strip_prefix('[')?.trim_start();
    let mut found = Vec::new();
    while !rest.is_empty() && !rest.starts_with(']') {
        let (value, after) = split_value(rest)?;
        found.push(value);
        rest = next(after);
    }
    Some(found)
}

fn next(after: &str) -> &str {
    let after = after.trim_start();
    after.strip_prefix(',').unwrap_or(after).trim_start()
}

/// Returns the value at the start of the text, and the rest; `None` if the value does not end.
pub(crate) fn split_value(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => continue,
            }
            if !in_string && depth == 0 {
                return text.split_at_checked(at + 1);
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' if depth == 1 => return text.split_at_checked(at + 1),
            // The end of a number or a literal.
            b',' | b'}' | b']' | b':' if depth == 0 => return non_empty(text, at),
            b if b.is_ascii_whitespace() && depth == 0 => return non_empty(text, at),
            _ => {}
        }
    }
    if depth == 0 && !in_string { non_empty(text, text.len()) } else { None }
}

fn non_empty(text: &str, at: usize) -> Option<(&str, &str)> {
    if at == 0 { None } else { text.split_at_checked(at) }
}

/// Returns whether the text is one complete JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_are_exact() {
        let text = r#" {"a" : [1, {"b\u0063":{"n":12345678901234567890123,"n":2, "s":"]}\"{"} } ], "z":true} "#;
        let at = [PathStep::Key("a"), PathStep::Index(1), PathStep::Key("bc")];
        assert_eq!(find(text, &at), Some(r#"{"n":12345678901234567890123,"n":2, "s":"]}\"{"}"#));
        assert_eq!(find(text, &[PathStep::Key("z")]), Some("true"));
        assert_eq!(find(text, &[PathStep::Key("a"), PathStep::Index(0)]), Some("1"));
        assert_eq!(find(text, &[PathStep::Key("a"), PathStep::Index(2)]), None);
        assert_eq!(find(text, &[PathStep::Key("nope")]), None);
        assert_eq!(member(r#"{"k":1,"k":2}"#, "k"), Some("2"));
        assert_eq!(elements("[]"), Some(vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_text_is_taken(text in r#"[\[\]{}":,\\ a1é-]{0,40}"#) {
            let _ = find(&text, &[PathStep::Key("a"), PathStep::Index(0)]);
            let _ = elements(&text);
            let _ = split_value(&text);
        }
    }
}
