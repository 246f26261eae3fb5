//! Converts bytes to text: removes the byte order mark, and replaces and counts invalid UTF-8.
#![deny(clippy::indexing_slicing)]

use super::report::{ChangeKind, Report};
use std::borrow::Cow;

/// Longest run of replacement characters that is written out; a longer one is written as a count,
/// so that binary data does not triple in size.
const LONGEST_RUN: usize = 8;

/// Decodes UTF-8; each maximal invalid sequence becomes one U+FFFD (Unicode §3.9, as in the WHATWG
/// decoder); longer runs are shortened to `�…(57 invalid sequences)`.
pub(super) fn decode<'a>(bytes: &'a [u8], report: &mut Report) -> Cow<'a, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    let (mut run, mut total) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            write_run(&mut out, run);
            run = 0;
            out.push_str(chunk.valid());
        }
        if !chunk.invalid().is_empty() {
            run += 1;
            total += 1;
        }
    }
    write_run(&mut out, run);
    report.change(ChangeKind::InvalidUtf8, total, None, || Cow::Borrowed("\u{FFFD}"));
    Cow::Owned(out)
}

fn write_run(out: &mut String, run: usize) {
    if run > LONGEST_RUN {
        out.push_str(&format!("\u{FFFD}…({run} invalid sequences)"));
    } else {
        out.extend(std::iter::repeat_n('\u{FFFD}', run));
    }
}

/// Removes one leading byte order mark (U+FEFF); elsewhere it is an invisible character.
pub(super) fn strip_bom<'a>(text: Cow<'a, str>, report: &mut Report) -> Cow<'a, str> {
    if !text.starts_with('\u{FEFF}') {
        return text;
    }
    report.change(ChangeKind::ByteOrderMark, 1, None, || Cow::Borrowed("U+FEFF"));
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix('\u{FEFF}').unwrap_or(text)),
        Cow::Owned(text) => Cow::Owned(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_are_replaced_and_counted() {
        for (bytes, text, count) in [
            (&b"plain"[..], "plain".to_owned(), 0),
            (b"a\xFFb", "a\u{FFFD}b".to_owned(), 1),
            (b"\xE2\x82", "\u{FFFD}".to_owned(), 1),
            (b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}".to_owned(), 3),
            (&[0xFF; 100], "\u{FFFD}…(100 invalid sequences)".to_owned(), 100),
        ] {
            let mut report = Report::default();
            assert_eq!(decode(bytes, &mut report), text);
            assert_eq!(report.changes.first().map_or(0, |change| change.count), count);
        }
    }
}
