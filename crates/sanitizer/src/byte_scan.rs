//! Finds the few bytes that need a closer check, and slices text without panics.
#![deny(clippy::indexing_slicing)]

/// Returns the text from byte `at` on; empty if `at` is not a character boundary or is past the
/// end.
pub(super) fn text_from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or("")
}

/// Returns the text before byte `at`; empty if `at` is not a character boundary or is past the end.
pub(super) fn text_before(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or("")
}

/// Returns whether this byte can begin a character that [`super::invisible_chars`] has to check.
///
/// The lead bytes are those of the blocks that contain such characters, so that most scripts (Latin
/// with accents, Cyrillic, CJK ideographs, Hangul) are skipped without being decoded.
const fn is_suspect(byte: u8) -> bool {
    match byte {
        b'\t' | b'\n' => false,
        0..0x20 | 0x7F => true,
        // U+0080..00BF, U+0340..037F, U+0600..063F; then U+1000.., U+2000.., U+3000.., U+E000..,
        // U+F000..
        0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xE3 | 0xEE | 0xEF | 0xF0..=0xFF => true,
        _ => false,
    }
}

/// Returns the position of the first suspect byte at or after `start`.
pub(super) fn next_suspect(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut rest = bytes.get(start..)?;
    // Whole blocks of printable ASCII are the usual case; the compiler vectorizes this form.
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        if has_non_printable(block) {
            match block.iter().position(|&b| is_suspect(b)) {
                Some(offset) => return Some(at + offset),
                None => {
                    at += block.len();
                    rest = tail;
                    continue;
                }
            }
        }
        at += block.len();
        rest = tail;
    }
    rest.iter().position(|&b| is_suspect(b)).map(|offset| at + offset)
}

fn has_non_printable(block: &[u8; 32]) -> bool {
    block
        .iter()
        .fold(false, |found, &b| found | ((b < 0x20) & (b != b'\n') & (b != b'\t')) | (b >= 0x7F))
}
