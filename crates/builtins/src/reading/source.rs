//! Sources: addresses and paths.

use toolcrib_core::ToolError;

/// The source that `read` reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// A web address.
    Url(&'a str),
    /// A file of the workspace.
    Path(&'a str),
    /// Id or name of a document that the person added.
    Document(&'a str),
}

impl<'a> Source<'a> {
    /// Parses a source.
    ///
    /// # Errors
    /// The source is empty, or an address that is not a web address.
    pub(crate) fn parse(text: &'a str) -> Result<Self, ToolError> {
        let text = text.trim();
        let refuse = |why: String| Err(ToolError::validation(why).with_nothing_read());
        if text.is_empty() {
            return refuse("The source is empty. Give an address or the path of a file.".into());
        }
        if let Some(name) = document_name(text) {
            return Ok(Self::Document(name));
        }
        match text.split_once("://") {
            Some((scheme, _)) if is_web(scheme) => Ok(Self::Url(text)),
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => refuse(
                "Give the path of a file instead of a file: address, such as notes.md.".into(),
            ),
            Some((scheme, _)) if is_scheme(scheme) => refuse(format!(
                "\"{scheme}\" addresses cannot be read. Give an address that begins with https:// or http://, or the path of a file."
            )),
            _ if text.starts_with("www.") && !text.contains(' ') => {
                refuse(format!("Write the whole address: https://{text}"))
            }
            _ => Ok(Self::Path(text)),
        }
    }
}

/// Returns the name after `document:`.
fn document_name(text: &str) -> Option<&str> {
    const MARK: &str = "document:";
    let (mark, name) = text.split_at_checked(MARK.len())?;
    let name = name.trim_start_matches('/').trim();
    (mark.eq_ignore_ascii_case(MARK) && !name.is_empty()).then_some(name)
}

fn is_web(scheme: &str) -> bool {
    ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

/// Checks for a scheme (RFC 3986, 3.1) that is shorter than a sentence, so that paths with `://` in
/// them remain paths.
fn is_scheme(text: &str) -> bool {
    text.len() <= 20
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart() {
        for (text, expected) in [
            ("https://example.com/a", Some(Source::Url("https://example.com/a"))),
            (" HTTP://example.com ", Some(Source::Url("HTTP://example.com"))),
            ("notes.md", Some(Source::Path("notes.md"))),
            ("/data/a b.pdf", Some(Source::Path("/data/a b.pdf"))),
            ("document:manual.pdf", Some(Source::Document("manual.pdf"))),
            ("Document://doc_1", Some(Source::Document("doc_1"))),
            ("document:", Some(Source::Path("document:"))),
            ("c: // odd name", Some(Source::Path("c: // odd name"))),
            ("file:///etc/passwd", None),
            ("ftp://example.com/a", None),
            ("www.example.com", None),
            ("  ", None),
        ] {
            assert_eq!(Source::parse(text).ok(), expected, "{text}");
        }
    }
}
