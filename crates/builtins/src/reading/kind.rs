//! Detects the kind of bytes by their content: the media type of a server or the name of a file may
//! be wrong.
#![deny(clippy::indexing_slicing)]

/// How to read bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A document that the worker reads.
    Document,
    /// A web page.
    Page,
    /// Possibly a feed: parsed as one, and read as text otherwise.
    Feed,
    /// Text, or unreadable data.
    Other,
}

/// Number of leading bytes to examine.
const HEAD: usize = 1024;

/// Returns the kind of these bytes. `declared` is the media type of a server or the extension of a
/// name, in lower case; it decides where the content does not.
pub(super) fn kind(bytes: &[u8], declared: &str) -> Kind {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let is_document = head.windows(5).any(|five| five == b"%PDF-")
        || bytes.starts_with(b"PK\x03\x04")
        || bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    if is_document {
        return Kind::Document;
    }
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let says = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    if text.starts_with("<!doctype html") || text.starts_with("<html") {
        return Kind::Page;
    }
    let has_root = ["<rss", "<feed", "<rdf:rdf"].iter().any(|root| text.contains(root));
    if text.starts_with('<') && has_root {
        return Kind::Feed;
    }
    if text.starts_with('{') && (says(&["feed+json"]) || text.contains("jsonfeed.org")) {
        return Kind::Feed;
    }
    if says(&["html"]) || (declared == "htm" && text.starts_with('<')) {
        return Kind::Page;
    }
    if says(&["rss", "atom"]) { Kind::Feed } else { Kind::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_more_than_what_is_said_about_it() {
        for (bytes, declared, expected) in [
            (&b"%PDF-1.7"[..], "text/html", Kind::Document),
            (b"<!DOCTYPE html><p>404", "application/pdf", Kind::Page),
            (b"<?xml version='1.0'?><rss version='2.0'>", "text/html", Kind::Feed),
            (b"{\"version\":\"https://jsonfeed.org/version/1.1\"}", "application/json", Kind::Feed),
            (b"{\"a\":1}", "application/json", Kind::Other),
            (b"<p>Hello", "text/html", Kind::Page),
            (b"<svg/>", "image/svg+xml", Kind::Other),
            (b"hello", "text/plain", Kind::Other),
        ] {
            assert_eq!(kind(bytes, declared), expected, "{declared}");
        }
    }
}
