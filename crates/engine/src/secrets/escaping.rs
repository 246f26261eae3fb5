//! How a text looks where others write it into theirs: in JSON, in an address, in HTML, in a shell,
//! in a program's own notation.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

/// How a JSON text is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Json {
    /// What is not ASCII as `\uXXXX`.
    ascii: bool,
    /// `/` as `\/`.
    slash: bool,
    /// `<`, `>`, `&` and `'` as `\uXXXX`, as for HTML.
    html: bool,
    /// Digits of `\uXXXX`.
    upper: bool,
}

impl Json {
    /// The ways in which the libraries in use write it.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            ascii: bits & 1 > 0,
            slash: bits & 2 > 0,
            html: bits & 4 > 0,
            upper: bits & 8 > 0,
        })
    }

    /// The inside of the JSON string.
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

/// Percent-encoding: what stays as it is beside letters and digits, by who writes it.
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

/// The text in an address or a form, however it is written there.
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

/// The same with every byte encoded.
pub(super) fn percent_whole(text: &str) -> [String; 2] {
    [true, false].map(|upper| percent_keeping(text, None, upper))
}

/// `kept` = `None`: every byte is encoded.
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

/// The text in HTML or XML.
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

/// The text in Markdown that was made of HTML.
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

/// The text as shells and programming languages write it: between single quotes, or with escapes of
/// their own.
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
