//! Parses the `WWW-Authenticate` header (RFC 9110 11.6.1, RFC 6750 3, RFC 9728 5.1).
#![deny(clippy::indexing_slicing)]

/// A `Bearer` challenge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Challenge {
    /// URL of the resource metadata.
    pub(crate) resource_metadata: Option<String>,
    /// Scopes that the token needs.
    pub(crate) scopes: Option<Vec<String>>,
    /// Error about the token that was sent.
    pub(crate) error: Option<String>,
}

/// Longest header that is parsed; a longer one is ignored.
const LONGEST: usize = 8 * 1024;

impl Challenge {
    /// Parses the `Bearer` challenge of a header; empty if there is none. Parameters of other
    /// schemes are skipped.
    pub(crate) fn read(header: &str) -> Self {
        let mut found = Self::default();
        if header.len() > LONGEST {
            return found;
        }
        let mut rest = header;
        let mut bearer = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
            let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if word.is_empty() && after.is_empty() {
                return found;
            }
            let value = after.trim_start_matches([' ', '\t']).strip_prefix('=');
            let Some(value) = value else {
                // A word without a value is the name of a scheme and begins its challenge.
                bearer = word.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = text(value.trim_start_matches([' ', '\t']));
            rest = after;
            if bearer {
                found.take(word, value);
            }
        }
    }

    fn take(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => {
                self.scopes = Some(value.split_ascii_whitespace().map(str::to_owned).collect());
            }
            "error" => self.error = Some(value),
            _ => {}
        }
    }

    /// Returns whether the token is valid but has insufficient scope.
    pub(crate) fn is_about_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Parses a quoted string or a token; also returns the rest.
fn text(from: &str) -> (String, &str) {
    let Some(quoted) = from.strip_prefix('"') else {
        let end = from.find([' ', '\t', ',']).unwrap_or(from.len());
        let (value, after) = from.split_at_checked(end).unwrap_or((from, ""));
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_read() {
        let check =
            |header: &str, metadata: Option<&str>, scopes: Option<&str>, error: Option<&str>| {
                let found = Challenge::read(header);
                assert_eq!(found.resource_metadata.as_deref(), metadata, "{header}");
                let wanted = scopes.map(|scopes| scopes.split(' ').map(str::to_owned).collect());
                assert_eq!(found.scopes, wanted, "{header}");
                assert_eq!(found.error.as_deref(), error, "{header}");
            };
        check("", None, None, None);
        check("Bearer", None, None, None);
        check(r#"Bearer resource_metadata="https://a/b""#, Some("https://a/b"), None, None);
        check(
            r#"bearer error="insufficient_scope", scope="a b",resource_metadata = "https://a/b, c""#,
            Some("https://a/b, c"),
            Some("a b"),
            Some("insufficient_scope"),
        );
        check(r#"Basic realm="x", scope="no", Bearer scope=one"#, None, Some("one"), None);
        check(r#"Bearer scope="one", DPoP algs="ES256", scope="two""#, None, Some("one"), None);
        check(r#"Bearer error="a\"b", x"#, None, None, Some("a\"b"));
        check(r#"Bearer error="open"#, None, None, Some("open"));
        check("Bearer =,=,==,", None, None, None);
        check(&format!("Bearer error={}", "x".repeat(9000)), None, None, None);
    }

    proptest::proptest! {
        #[test]
        fn no_header_breaks_it(header in "(Bearer|,| |=|\"|\\\\|scope|[a-z]|\\PC){0,40}") {
            let _ = Challenge::read(&header);
        }
    }
}
