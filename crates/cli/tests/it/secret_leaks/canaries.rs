//! Twenty secrets of different shapes, the forms that are searched, and the search.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Returns name and value of each secret; the names are names of variables.
pub(super) fn secrets() -> Vec<(String, String)> {
    let long: String =
        (0..512).map(|n| format!("{:08x}", (n as u32).wrapping_mul(2_654_435_761))).collect();
    let values = [
        "kq7Zt4mW",
        "plain-canary-0001",
        "with space and more",
        "quote\"canary\"inside",
        "back\\slash\\canary",
        "single'canary'quote",
        "slash/canary/and?query=1&x",
        "unicode-ключ-canary",
        "emoji-😀-canary-😀",
        "umlaut-äöüß-canary",
        "first-line-canary\nsecond-line-canary",
        "dGhpcyBpcyBub3QgYSBrZXk=",
        "deadbeefcafef00d0123456789abcdef",
        "%41%42%43-percent-canary",
        "<b>html&canary</b>",
        "${VAR}-`cmd`-canary",
        "sk-live_51HxAMPLEcanaryKEY00",
        "tab\tcanary\tinside",
        "*glob?[canary]{x}*",
        &long,
    ];
    values
        .iter()
        .enumerate()
        .map(|(n, value)| (format!("S{:02}", n + 1), (*value).to_owned()))
        .collect()
}

/// Returns the plain and encoded forms of a secret; the seventh form, split over pieces, has the
/// same bytes in two writes.
pub(super) fn forms(secret: &str) -> [String; 6] {
    let bytes = secret.as_bytes();
    let json = serde_json::to_string(secret).unwrap();
    let url = bytes.iter().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    [
        secret.to_owned(),
        STANDARD.encode(bytes),
        URL_SAFE_NO_PAD.encode(bytes),
        bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        url.collect(),
        json[1..json.len() - 1].to_owned(),
    ]
}

/// Searches for every form of every secret.
pub(super) struct Search {
    wanted: Vec<(String, String)>,
}

impl Search {
    pub(super) fn of(secrets: &[(String, String)]) -> Self {
        let mut wanted = Vec::new();
        for (name, secret) in secrets {
            for form in forms(secret) {
                // The search for the unpadded form also finds the padded one.
                wanted.push((name.clone(), form.trim_end_matches('=').to_owned()));
            }
            let lines = secret.lines().filter(|_| secret.contains('\n'));
            wanted.extend(lines.map(|line| (name.clone(), line.to_owned())));
        }
        wanted.sort();
        wanted.dedup();
        Self { wanted }
    }

    /// Returns the findings in these bytes, each with its context.
    pub(super) fn find(&self, bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let found = self.wanted.iter().filter_map(|(name, form)| {
            let at = text.find(form.as_str())?;
            let from = (0..=at.saturating_sub(60)).rev().find(|at| text.is_char_boundary(*at))?;
            let end = (at + 30..text.len()).find(|at| text.is_char_boundary(*at));
            Some(format!("{name}: {:?}", &text[from..end.unwrap_or(text.len())]))
        });
        found.collect()
    }

    /// Searches every file below a folder, except for undo journals, which contain the person's own
    /// files.
    pub(super) fn find_in(&self, folder: &Path, found: &mut Vec<String>) -> usize {
        let mut files = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "undo") {
                    files += self.find_in(&path, found);
                }
                continue;
            }
            files += 1;
            let bytes = fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.extend(self.find(&bytes).iter().map(|what| format!("{name}: {what}")));
        }
        files
    }
}
