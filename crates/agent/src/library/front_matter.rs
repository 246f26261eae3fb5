//! Front matter of Markdown files, and typed YAML and TOML with error messages for users.
#![deny(clippy::indexing_slicing)]

use serde::de::DeserializeOwned;

use super::suggest::{did_you_mean, likely_typos, quote_name};

/// Maximum number of YAML events that aliases of one file may repeat.
const MAX_REPLAYED: usize = 1_000;

/// Splits a Markdown file into the YAML between its two `---` lines and the body after them,
/// without surrounding blank lines. The YAML starts with the end of the first line, so that its
/// line numbers are those of the file.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn split(text: &str) -> Result<(&str, &str), String> {
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return Err("does not begin with front matter: the first line must be ---".to_owned());
    }
    let start = text.len() - lines.clone().map(str::len).sum::<usize>();
    let mut end = start;
    for line in lines {
        if line.trim_end() == "---" {
            let yaml = text.get(start - 1..end).unwrap_or_default();
            let body = text.get(end + line.len()..).unwrap_or_default();
            return Ok((yaml, body.trim()));
        }
        end += line.len();
    }
    Err("has front matter that does not end: a line with --- is missing behind it".to_owned())
}

/// Parses typed YAML.
///
/// # Errors
/// The problem with its line, as a sentence fragment; for an unknown key with a suggestion.
pub(super) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // Anchors are legitimate in hand-written files; exponential expansion ("billion laughs") is
        // an attack.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPLAYED },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                unknown_key(field, expected)
            }
            serde_saphyr::Error::SerdeMissingField { field, .. } => missing_key(field),
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), location } => {
                format!(
                    "the key \"{}\" is there twice, again at line {}",
                    quote_name(key),
                    location.line()
                )
            }
            other => other.to_string(),
        }
    })
}

/// Parses typed TOML.
///
/// # Errors
/// The problem with its line, as a sentence fragment; for an unknown key with a suggestion.
pub(super) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    ::toml::from_str(text).map_err(|error| {
        // Serde's message: unknown field `x`, expected one of `a`, `b`
        let message = error.message();
        let mut quoted = message.split('`').skip(1).step_by(2);
        if message.starts_with("unknown field `") {
            let field = quoted.next().unwrap_or_default();
            return unknown_key(field, &quoted.collect::<Vec<_>>());
        }
        if message.starts_with("missing field `") {
            return missing_key(quoted.next().unwrap_or_default());
        }
        let at = error.span().and_then(|span| text.get(..span.start));
        let line = at.map(|before| before.matches('\n').count() + 1);
        line.map_or_else(|| message.to_owned(), |line| format!("line {line}: {message}"))
    })
}

/// Renders the advice about an unknown key: similar names, or all valid ones.
pub(super) fn unknown_key(key: &str, expected: &[&str]) -> String {
    let near = likely_typos(key, expected.iter().copied());
    let key = quote_name(key);
    if near.is_empty() {
        return format!("unknown key \"{key}\"; the keys are {}", expected.join(", "));
    }
    format!("unknown key \"{key}\"{}", did_you_mean(&near))
}

fn missing_key(key: &str) -> String {
    format!("the key \"{key}\" is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_split() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            assert_eq!(split(text), expected.map_err(str::to_owned), "{text:?}");
        };
        check("---\na: 1\n---\n\nBody\n", Ok(("\na: 1\n", "Body")));
        check("---\r\na: 1\r\n---\r\nBody", Ok(("\na: 1\r\n", "Body")));
        check("---\n---", Ok(("\n", "")));
        check("---\na: 1\n---\nx\n---\ny", Ok(("\na: 1\n", "x\n---\ny")));
        let none = "does not begin with front matter: the first line must be ---";
        check("", Err(none));
        check("# Title", Err(none));
        check("----\n", Err(none));
        let open = "has front matter that does not end: a line with --- is missing behind it";
        check("---\na: 1\n", Err(open));
        check("---", Err(open));
    }
}
