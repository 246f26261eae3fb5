//! Page ranges: which parts of a document to read, such as `1-3, 7, 10-`.
#![deny(clippy::indexing_slicing)]

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of ranges in one selection; more are a mistake of the model.
const MAX_RANGES: usize = 64;

/// A selection of part numbers from 1; an empty one selects all parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageRanges(Vec<(u32, u32)>);

impl PageRanges {
    /// Returns whether the part is selected.
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.is_all() || self.0.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }

    /// Returns whether the selection is empty, which selects everything.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether any part from 1 to `last` is selected.
    pub(crate) fn intersects_up_to(&self, last: u32) -> bool {
        self.is_all() || self.0.iter().any(|(first, _)| *first <= last)
    }
}

impl FromStr for PageRanges {
    type Err = String;

    /// Parses a selection; the error is a whole sentence.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |part: &str| {
            let part: String = part.trim().chars().take(40).collect();
            format!(
                "\"{part}\" selects no pages. Write numbers from 1 and ranges, such as \"3\", \"1-5\", \"10-\" or \"1-3, 7\"."
            )
        };
        let mut ranges = Vec::new();
        for part in text.split(',') {
            let number = |text: &str| {
                text.trim()
                    .parse::<u32>()
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or_else(|| wrong(part))
            };
            let (first, last) = match part.split_once('-') {
                None => (number(part)?, number(part)?),
                Some((first, last)) if last.trim().is_empty() => (number(first)?, u32::MAX),
                Some((first, last)) => (number(first)?, number(last)?),
            };
            if first > last {
                return Err(format!(
                    "The range {first}-{last} ends before it begins. Write {last}-{first}."
                ));
            }
            ranges.push((first, last));
            if ranges.len() > MAX_RANGES {
                return Err(format!(
                    "More than {MAX_RANGES} ranges of pages were given. Read the document in several calls."
                ));
            }
        }
        Ok(Self(ranges))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn selections() {
        let check = |text: &str, expected: &[u32]| {
            let pages: PageRanges = text.parse().unwrap();
            let wanted: Vec<u32> = (1..=12).filter(|number| pages.contains(*number)).collect();
            assert_eq!(wanted, expected, "{text}");
        };
        check("3", &[3]);
        check("1-3, 7", &[1, 2, 3, 7]);
        check(" 11 - ,2", &[2, 11, 12]);
        assert!(PageRanges::default().contains(5) && PageRanges::default().intersects_up_to(0));
        assert!(!"4-".parse::<PageRanges>().unwrap().intersects_up_to(3));
    }

    #[test]
    fn wrong_selections_say_what_is_right() {
        let check = |text: &str, begins: &str| {
            let error = text.parse::<PageRanges>().unwrap_err();
            assert!(error.starts_with(begins), "{text}: {error}");
        };
        for text in ["", "0", "-3", "a", "1,,2", "1-2-3", "99999999999", "1 2", "2-0"] {
            check(text, "\"");
        }
        check("5-2", "The range 5-2 ends before it begins. Write 2-5.");
        check(&"1,".repeat(65), "More than 64 ranges");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<PageRanges>();
        }
    }
}
