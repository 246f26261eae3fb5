//! Locates a hunk in a file. Every line of the hunk must match; none is skipped.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use super::{FUZZ, Hunk};

/// Line comparisons per file; beyond them the file and the diff are too repetitive for a reliable
/// match.
const MAX_WORK: usize = 20_000_000;
/// Positions of one line that are tried for the nearest match of a hunk that fits nowhere.
const MAX_PLACES: usize = 64;
/// Positions that a message lists.
const LISTED: usize = 5;

/// Why a hunk has no position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkMismatch {
    /// Its lines do not occur after the previous hunk. The nearest position: its first line, and
    /// the first pair of lines that differs.
    NotFound {
        /// The position with the most matching lines; `None` if no line matches anywhere.
        near: Option<NearestLines>,
    },
    /// It fits in several positions, and the header does not decide.
    Ambiguous {
        /// Line numbers of the first few positions, from 1.
        lines: Vec<usize>,
        /// Number of positions.
        count: usize,
    },
    /// It has no context or removed lines, so its position is unknown.
    NoContext,
    /// The file and the hunk are too repetitive.
    TooMuchWork,
}

/// The nearest position of a hunk that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearestLines {
    /// First line of the position, from 1.
    pub line: usize,
    /// First line that differs, from 1.
    pub at: usize,
    /// The line in the file; `None` if the file ends before it.
    pub found: Option<String>,
    /// The line in the hunk.
    pub wanted: String,
}

/// How lines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineComparison {
    /// Exactly, except for the line end.
    Exactly,
    /// Ignoring trailing whitespace.
    Trimmed,
}

impl LineComparison {
    fn key(self, line: &str) -> &str {
        match self {
            Self::Exactly => line,
            Self::Trimmed => line.trim_end(),
        }
    }
}

/// The lines of a file, indexed for searching.
pub(super) struct Locator<'a> {
    lines: Vec<&'a str>,
    exact: HashMap<&'a str, Vec<usize>>,
    /// Built lazily, when a hunk has no exact match.
    trimmed: Option<HashMap<&'a str, Vec<usize>>>,
    work: usize,
}

impl<'a> Locator<'a> {
    /// Indexes lines without line ends.
    pub(super) fn new(lines: Vec<&'a str>) -> Self {
        let exact = index(&lines, LineComparison::Exactly);
        Self { lines, exact, trimmed: None, work: 0 }
    }

    /// Returns the index of the first line of the hunk's position at or after `from`. `drift` is
    /// the offset of the previous hunk from its header.
    pub(super) fn find(
        &mut self,
        hunk: &Hunk,
        from: usize,
        drift: isize,
    ) -> Result<usize, HunkMismatch> {
        let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
        let expected = hunk.line.and_then(|line| (line - 1).checked_add_signed(drift));
        if old.is_empty() {
            return if self.lines.is_empty() { Ok(0) } else { Err(HunkMismatch::NoContext) };
        }
        for compare in [LineComparison::Exactly, LineComparison::Trimmed] {
            let places = self.places(&old, from, compare)?;
            if !places.is_empty() {
                return choose(&places, expected);
            }
        }
        Err(HunkMismatch::NotFound { near: self.nearest(&old, from, expected) })
    }

    /// Returns all positions at or after `from` where these lines match.
    fn places(
        &mut self,
        old: &[&str],
        from: usize,
        compare: LineComparison,
    ) -> Result<Vec<usize>, HunkMismatch> {
        if compare == LineComparison::Trimmed && self.trimmed.is_none() {
            self.trimmed = Some(index(&self.lines, compare));
        }
        let known = match compare {
            LineComparison::Exactly => &self.exact,
            LineComparison::Trimmed => self.trimmed.as_ref().unwrap_or(&self.exact),
        };
        // The line with the fewest occurrences keeps the number of comparisons low.
        let mut rarest: Option<(usize, &Vec<usize>)> = None;
        for (offset, line) in old.iter().enumerate() {
            let Some(places) = known.get(compare.key(line)) else { return Ok(Vec::new()) };
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((offset, places));
            }
        }
        let Some((offset, candidates)) = rarest else { return Ok(Vec::new()) };
        let mut places = Vec::new();
        let reached = candidates.partition_point(|candidate| *candidate < from + offset);
        for candidate in candidates.iter().skip(reached) {
            let start = candidate - offset;
            let Some(there) = self.lines.get(start..start + old.len()) else { continue };
            let same =
                there.iter().zip(old).take_while(|(a, b)| compare.key(a) == compare.key(b)).count();
            self.work += same + 1;
            if self.work > MAX_WORK {
                return Err(HunkMismatch::TooMuchWork);
            }
            if same == old.len() {
                places.push(start);
            }
        }
        Ok(places)
    }

    /// Returns the position where most lines of the hunk match.
    fn nearest(&self, old: &[&str], from: usize, expected: Option<usize>) -> Option<NearestLines> {
        let mut votes: HashMap<isize, usize> = HashMap::new();
        for (offset, line) in old.iter().enumerate() {
            let places = self.exact.get(line).filter(|places| places.len() <= MAX_PLACES);
            if line.trim().is_empty() {
                continue;
            }
            for place in places.into_iter().flatten() {
                *votes.entry(place.checked_signed_diff(offset)?).or_default() += 1;
            }
        }
        let far = |start: isize| expected.map_or(0, |line| start.unsigned_abs().abs_diff(line));
        let (start, _) = votes.into_iter().max_by_key(|(start, votes)| {
            (*votes, start.cast_unsigned() >= from, std::cmp::Reverse((far(*start), *start)))
        })?;
        let (at, wanted) = old.iter().enumerate().find_map(|(offset, line)| {
            let at = usize::try_from(start.checked_add_unsigned(offset)?).ok();
            let found = at.and_then(|at| self.lines.get(at));
            (found != Some(line)).then_some((at, *line))
        })?;
        let at = at.unwrap_or(0);
        Some(NearestLines {
            line: usize::try_from(start).unwrap_or(0) + 1,
            at: at + 1,
            found: self.lines.get(at).map(|line| (*line).to_owned()),
            wanted: wanted.to_owned(),
        })
    }
}

fn index<'a>(lines: &[&'a str], compare: LineComparison) -> HashMap<&'a str, Vec<usize>> {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        index.entry(compare.key(line)).or_default().push(at);
    }
    index
}

/// Returns the intended position of the hunk: the only one, the one in its header, or the nearest
/// to it within [`FUZZ`] lines.
fn choose(places: &[usize], expected: Option<usize>) -> Result<usize, HunkMismatch> {
    if let [only] = places {
        return Ok(*only);
    }
    if let Some(expected) = expected {
        let far = |place: &usize| place.abs_diff(expected);
        let nearest = places.iter().map(far).min().unwrap_or(usize::MAX);
        let mut best = places.iter().filter(|place| far(place) == nearest);
        if nearest <= FUZZ
            && let (Some(place), None) = (best.next(), best.next())
        {
            return Ok(*place);
        }
    }
    let lines = places.iter().take(LISTED).map(|place| place + 1).collect();
    Err(HunkMismatch::Ambiguous { lines, count: places.len() })
}
