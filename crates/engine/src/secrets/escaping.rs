//! Escaped forms of a text inside JSON, an address, HTML, a shell command or source code.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

/// Style of a JSON writer.
#[derive(Clone, Copy, Default)]
pub(super) struct Json {
    /// Whether non-ASCII characters are written as `\uXXXX`.
    ascii: bool,
    /// Whether `/` is written as `\/`.
    slash: bool,
    /// Whether `<`, `>`, `&` and `'` are written as `\uXXXX`, as for HTML.
    html: bool,
    /// Whether the digits of `\uXXXX` are upper case.
    upper: bool,
}

impl Json {
    /// Returns the styles of common libraries.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            ascii: bits & 1 > 0,
            slash: bits & 2 > 0,
            html: bits & 4 > 0,
            upper: bits & 8 > 0,
        })
    }

    /// Returns the escaped text without the quotes of the JSON string.
    pub(super) fn escape(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '/' if self.slash => out.push_str("\\/"),
                '<' | '>' | '&' | '\'' if self.html => self.units(c, &mut out),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' => self.units(c, &mut out),
                c if self.ascii && !c.is_ascii() => self.units(c, &mut out),
                c => out.push(c),
            }
        }
        out
    }

    fn units(self, c: char, out: &mut String) {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing into a text cannot fail.
            let _ = if self.upper {
                write!(out, "\\u{unit:04X}")
            } else {
                write!(out, "\\u{unit:04x}")
            };
        }
    }
}

/// Percent-encoding: characters besides letters and digits that each writer leaves unchanged.
const KEPT: [&str; 9] = [
    // RFC 3986, unreserved; Python's `quote`; JavaScript's `encodeURIComponent` and `encodeURI`;
    // forms of HTML; PHP's `urlencode`.
    "-._~",
    "-._~/",
    "-_.!~*'()",
    "-_.!~*'();/?:@&=+$,#",
    "*-._",
    "-._",
    // The WHATWG sets of query, path and user information, as browsers and the `url` crate write
    // them.
    "!$%&()*+,-./:;=?@[\\]^_`{|}~",
    "!$%&'()*+,-./:;=@[\\]^_|~",
    "!$%&'()*+,-._~",
];

/// Returns the text as written in an address or a form, in every common encoding.
pub(super) fn percent(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for upper in [true, false] {
        for kept in KEPT {
            let encoded = percent_keeping(text, Some(kept), upper);
            if text.contains(' ') {
                all.push(encoded.replace("%20", "+"));
            }
            all.push(encoded);
        }
    }
    all
}

/// Returns the text with every byte percent-encoded.
pub(super) fn percent_whole(text: &str) -> [String; 2] {
    [true, false].map(|upper| percent_keeping(text, None, upper))
}

/// Percent-encodes the text; with `kept` = `None` every byte is encoded.
fn percent_keeping(text: &str, kept: Option<&str>, upper: bool) -> String {
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        let stays = kept
            .is_some_and(|kept| byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte));
        // Writing into a text cannot fail.
        let _ = match (stays, upper) {
            (true, _) => out.write_char(char::from(byte)),
            (false, true) => write!(out, "%{byte:02X}"),
            (false, false) => write!(out, "%{byte:02x}"),
        };
    }
    out
}

/// Returns the text as written in HTML or XML.
pub(super) fn html(text: &str) -> Vec<String> {
    let open = text.replace('&', "&amp;").replace('<', "&lt;");
    let mut all = Vec::new();
    for plain in [open.replace('>', "&gt;"), open] {
        let quoted = plain.replace('"', "&quot;");
        let single = ["&#39;", "&#x27;", "&apos;"].map(|escape| quoted.replace('\'', escape));
        all.extend([plain, quoted].into_iter().chain(single));
    }
    all
}

/// Returns the text as written in Markdown that was converted from HTML.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '`' | '[' | ']') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns the text as written in shells and programming languages: between single quotes, or with
/// their escapes.
pub(super) fn quoted(text: &str) -> Vec<String> {
    let debug = format!("{text:?}");
    let inner = debug.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&debug);
    let bare = inner.replace("\\\"", "\"");
    vec![
        text.replace('\'', "'\\''"),
        text.replace('\'', "'\"'\"'"),
        inner.to_owned(),
        bare.replace('\'', "\\'"),
        bare,
        text.escape_default().to_string(),
    ]
}
