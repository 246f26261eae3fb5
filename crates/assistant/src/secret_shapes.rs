//! Shapes of well-known keys and tokens. They are refused even if they are not known secrets of the
//! vault: a false positive only requires rephrasing a memory.

use std::sync::LazyLock;

use regex::{Captures, Regex};

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

/// A word for a secret, its purpose, and a value: "the password for the wifi is hunter2".
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(password|passwd|passphrase|passwort|kennwort|pin|token|secret|api[ _-]?key)\b",
        r#"["'`*]*(?:\s+(?:for|of|to|from|für)\s+[^.:=\n]{1,40}?)?"#,
        r#"\s*(?:\b(?:is|ist)\b\s*[:=]?|[:=])\s*["'`*]*([^\s"'`<>{}\[\]()]{4,})(["'`*]*[.!]?\s*(?:$|\n))?"#,
    ))
    .ok()
});

/// Words after "the password is" that are not a password.
const NO_VALUES: [&str; 32] = [
    "required",
    "needed",
    "optional",
    "missing",
    "wrong",
    "invalid",
    "incorrect",
    "correct",
    "right",
    "unknown",
    "expired",
    "empty",
    "stored",
    "saved",
    "kept",
    "hidden",
    "secret",
    "safe",
    "unsafe",
    "weak",
    "strong",
    "short",
    "long",
    "here",
    "there",
    "below",
    "above",
    "none",
    "string",
    "valid",
    "known",
    "changed",
];

/// Returns whether a text contains the shape of a key or token, or states a secret in plain words.
pub(crate) fn occur_in(text: &str) -> bool {
    SHAPES.as_ref().is_some_and(|shapes| shapes.is_match(text))
        || NAMED.as_ref().is_some_and(|named| named.captures_iter(text).any(|said| is_value(&said)))
}

/// Returns whether the value after a word for a secret can be a secret.
fn is_value(said: &Captures<'_>) -> bool {
    let part = |n| said.get(n).map_or("", |part| part.as_str());
    let name = part(1).to_lowercase();
    let value = part(2).trim_end_matches(['.', ',', ';', '!', '?', ')', '*']);
    let chars = value.chars().count();
    if chars < 4 || value.starts_with('$') {
        return false;
    }
    let is_password = name.starts_with("pass") || name == "kennwort";
    let has_digit = value.chars().any(|c| c.is_ascii_digit());
    if value.chars().all(|c| c.is_ascii_digit()) {
        // "pin: 13" and "the token is 1200 characters long" are not secrets.
        return is_password || name == "pin" || chars >= 8;
    }
    // "The pin is GPIO17" and "the token: user_id" are not secrets either.
    let is_plain = value.chars().all(char::is_alphabetic);
    match name.as_str() {
        "pin" => false,
        _ if has_digit => true,
        _ if !is_password => false,
        _ if is_plain => {
            // The word must end its sentence, and must not describe the password.
            said.get(3).is_some() && !NO_VALUES.contains(&value.to_lowercase().as_str())
        }
        _ => value.contains(['@', '#', '$', '%', '^', '&', '!', '?', '+', '~']),
    }
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
            // Regression: secrets in plain words were stored.
            ("the wifi password is hunter2isok", true),
            ("password: hunter2", true),
            ("The password for the guest wifi is swordfish.", true),
            ("PASSWD=p@ssword!", true),
            ("The PIN of the door is 4711", true),
            ("My api key is \"a1b2c3d4\"", true),
            ("Das Passwort ist Sommer2026!", true),
            ("secret = 9f8e7d6c5b4a", true),
            ("A password is required", false),
            ("The password for the wifi is wrong.", false),
            ("The password is stored in the vault under wifi2", false),
            ("The password is in the safe.", false),
            ("A token is 1200 characters long", false),
            ("The LED pin is GPIO17, the other pin: 13", false),
            ("The secret is patience.", false),
            ("The secret ingredient is basil", false),
            ("token = $GITHUB_TOKEN2", false),
            ("Never ask for a password", false),
        ] {
            assert_eq!(occur_in(text), expected, "{text}");
        }
    }
}
