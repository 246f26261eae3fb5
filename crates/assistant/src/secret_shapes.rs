//! Shapes of well-known keys and tokens, which are refused even if they are no known secrets of the
//! vault: a wrong guess only costs a rephrased memory.

use std::sync::LazyLock;

use regex::Regex;

/// Prefixes that providers give their keys, and private keys in PEM.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"|\bsk-[A-Za-z0-9_-]{20,}",
        r"|\bgh[pousr]_[A-Za-z0-9]{30,}",
        r"|\bgithub_pat_[A-Za-z0-9_]{30,}",
        r"|\bglpat-[A-Za-z0-9_-]{20,}",
        r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"|\bAKIA[0-9A-Z]{16}\b",
        r"|\bAIza[0-9A-Za-z_-]{35}",
        r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ))
    .ok()
});

/// Whether a text contains something that has the shape of a key or token.
pub(crate) fn occur_in(text: &str) -> bool {
    SHAPES.as_ref().is_some_and(|shapes| shapes.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_recognized_and_prose_is_not() {
        for (text, expected) in [
            ("key: sk-proj-abcdefghijklmnopqrstuvwx", true),
            ("ghp_0123456789abcdefghijABCDEFGHIJ012345", true),
            ("AKIAABCDEFGHIJKLMNOP", true),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", true),
            ("My desk-chair is blue, the sk-learn version is 1.5", false),
            ("AKIAABC", false),
            ("The key is under the mat", false),
        ] {
            assert_eq!(occur_in(text), expected, "{text}");
        }
    }
}
