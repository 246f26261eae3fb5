//! CSV reader, and the text form of table rows that XLSX shares.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

/// Reads a CSV file as one line per row with tabs between the values. The separator is the comma,
/// semicolon, tab or bar that is most frequent in the first line. The text is UTF-8 or UTF-16 with
/// a byte order mark, otherwise Windows-1252.
pub(super) fn read(bytes: &[u8], most: usize) -> String {
    let text = super::text_of(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator(&text))
        .from_reader(text.as_bytes());
    let mut rows = Rows::new(most);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).unwrap_or(false) {
        if !rows.push(record.iter()) {
            break;
        }
    }
    rows.text
}

fn separator(text: &str) -> u8 {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Separators inside quotes do not count.
    let bare: String = line.split('"').step_by(2).collect();
    let mut best = (0, b',');
    for candidate in [b',', b';', b'\t', b'|'] {
        let count = bare.matches(char::from(candidate)).count();
        if count > best.0 {
            best = (count, candidate);
        }
    }
    best.1
}

/// Rows as text, up to a size limit.
pub(super) struct Rows {
    pub(super) text: String,
    most: usize,
}

impl Rows {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }

    /// Adds a row; `false` if the limit was reached. Empty values at the end are left out, line
    /// breaks inside values become spaces.
    pub(super) fn push<'a>(&mut self, values: impl Iterator<Item = &'a str>) -> bool {
        let begin = self.text.len();
        let mut filled = begin;
        for (number, value) in values.enumerate() {
            if number > 0 {
                self.text.push('\t');
            }
            let mut first = true;
            for word in value.split(['\n', '\r', '\t']) {
                let blank = if first || word.is_empty() { "" } else { " " };
                let _ = write!(self.text, "{blank}{word}");
                first = false;
            }
            if !value.is_empty() {
                filled = self.text.len();
            }
            if self.text.len() > self.most {
                return false;
            }
        }
        self.text.truncate(filled);
        self.text.push('\n');
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_are_lines_with_tabs() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(read(bytes, 1000), expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(b"a,b\n1,\"x, y\"\n", "a\tb\n1\tx, y\n");
        check(b"a;b\n1,5;2\n", "a\tb\n1,5\t2\n");
        check(b"a\tb\n\"two\nlines\"\t2\n", "a\tb\ntwo lines\t2\n");
        check(b"a,b,c\n1\n,,3\n,,\n", "a\tb\tc\n1\n\t\t3\n\n");
        check(b"\xef\xbb\xbfa,b\n", "a\tb\n");
        check(b"\xff\xfea\0,\0b\0\n\0", "a\tb\n");
        check(b"caf\xe9,1\n", "café\t1\n");
        check(b"", "");
    }

    #[test]
    fn a_long_one_ends_at_its_bound() {
        let text = read("a,b\n".repeat(1000).as_bytes(), 100);
        assert!((100..=110).contains(&text.len()), "{}", text.len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes, 500).len() <= 500 + 400);
        }
    }
}
