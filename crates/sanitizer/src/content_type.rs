//! Selects how to read a text, based on its media type.

/// The three ways to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    /// Converted to Markdown before it is shown.
    Html,
    /// Only string literals are checked; everything else is unchanged byte for byte.
    Json,
    /// Shown unchanged.
    Text {
        /// Whether a renderer would show Markdown and HTML images in it: true for prose, not for
        /// source code.
        images: bool,
        /// Whether it is read as JSON if it begins like JSON and consists only of JSON tokens.
        may_be_json: bool,
    },
}

/// Parses a media type; parameters and case are ignored, and a bare subtype (`html`) is accepted.
pub(super) fn content_kind(content_type: &str) -> ContentKind {
    let essence = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/').unwrap_or(("", &essence));
    match subtype {
        "html" | "xhtml+xml" => ContentKind::Html,
        "json" | "x-json" | "ndjson" | "x-ndjson" | "jsonl" | "x-jsonl" | "jsonlines"
        | "x-jsonlines" | "json-seq" => ContentKind::Json,
        _ if subtype.ends_with("+json") => ContentKind::Json,
        "" | "plain" | "*" | "octet-stream" => {
            ContentKind::Text { images: true, may_be_json: true }
        }
        _ => ContentKind::Text { images: !is_source(kind, subtype), may_be_json: false },
    }
}

/// Returns whether the type is a programming language: `![` and `<img` are ordinary code there, and
/// nothing renders them.
fn is_source(kind: &str, subtype: &str) -> bool {
    const PROSE: [&str; 4] = ["x-markdown", "x-log", "x-rst", "x-web-markdown"];
    const SOURCE: [&str; 27] = [
        "javascript",
        "ecmascript",
        "typescript",
        "jsx",
        "tsx",
        "css",
        "sql",
        "rust",
        "python",
        "c",
        "c++",
        "csharp",
        "java",
        "kotlin",
        "swift",
        "go",
        "ruby",
        "perl",
        "php",
        "shell",
        "lua",
        "scala",
        "haskell",
        "toml",
        "vue",
        "diff",
        "patch",
    ];
    SOURCE.contains(&subtype)
        || (subtype.starts_with("x-") && kind == "text" && !PROSE.contains(&subtype))
        || (kind == "application"
            && ["x-sh", "x-csh", "x-python", "x-python-code", "x-httpd-php", "x-javascript"]
                .contains(&subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_choose_the_reading() {
        let text = |images, may_be_json| ContentKind::Text { images, may_be_json };
        for (content_type, expected) in [
            ("text/html", ContentKind::Html),
            ("Text/HTML; charset=utf-8", ContentKind::Html),
            ("application/xhtml+xml", ContentKind::Html),
            ("html", ContentKind::Html),
            ("application/json", ContentKind::Json),
            ("application/problem+json; v=1", ContentKind::Json),
            ("application/x-ndjson", ContentKind::Json),
            ("text/plain", text(true, true)),
            ("", text(true, true)),
            ("nonsense", text(true, false)),
            ("text/markdown", text(true, false)),
            ("text/x-markdown", text(true, false)),
            ("text/csv", text(true, false)),
            ("application/xml", text(true, false)),
            ("text/x-rust", text(false, false)),
            ("text/javascript", text(false, false)),
            ("application/x-sh", text(false, false)),
        ] {
            assert_eq!(content_kind(content_type), expected, "{content_type}");
        }
    }
}
