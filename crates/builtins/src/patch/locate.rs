//! Where in a file a hunk stands. Every line of it is compared; nothing is skipped.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use super::{FUZZ, Hunk};

/// Comparisons of lines for one file; beyond them the file and the diff repeat themselves too much to be sure.
const MAX_WORK: usize = 20_000_000;
/// Places of one line that are looked at for the nearest place of a hunk that fits nowhere.
const MAX_PLACES: usize = 64;
/// Places that a message lists.
const LISTED: usize = 5;

/// Why a hunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// Its lines stand nowhere behind the hunk before. The nearest place: first line there, and the pair of lines that differs first:
    /// number in the file, what stands there, what the hunk says.
    Nowhere {
        /// The line in the file, from 1, where most of its lines stand; `None` = none of them stands anywhere.
        near: Option<Near>,
    },
    /// It fits in several places, and the header does not say which.
    Several {
        /// Their first lines, from 1; the first few.
        lines: Vec<usize>,
        /// How many there are.
        count: usize,
    },
    /// It says of no line what stands there, so nothing shows where it belongs.
    NoContext,
    /// The file and the hunk repeat themselves too much.
    TooMuch,
}

/// The nearest place of a hunk that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// First line of the place, from 1.
    pub line: usize,
    /// First line that differs, from 1.
    pub at: usize,
    /// What stands there; `None` = the file ends before.
    pub found: Option<String>,
    /// What the hunk says.
    pub wanted: String,
}

/// How lines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    /// All but the line end.
    Exactly,
    /// Blanks at the end of a line do not count.
    Trimmed,
}

impl Compare {
    fn key(self, line: &str) -> &str {
        match self {
            Self::Exactly => line,
            Self::Trimmed => line.trim_end(),
        }
    }
}

/// The lines of a file, to be searched.
pub(super) struct Locator<'a> {
    lines: Vec<&'a str>,
    exact: HashMap<&'a str, Vec<usize>>,
    /// Made when a hunk fits nowhere exactly.
    trimmed: Option<HashMap<&'a str, Vec<usize>>>,
    work: usize,
}

impl<'a> Locator<'a> {
    /// `lines`: without their ends.
    pub(super) fn new(lines: Vec<&'a str>) -> Self {
        let exact = index(&lines, Compare::Exactly);
        Self { lines, exact, trimmed: None, work: 0 }
    }

    /// The index of the first line of the hunk's place, at or behind `from`. `drift` is how far the hunk before stood from where its
    /// header said.
    pub(super) fn find(&mut self, hunk: &Hunk, from: usize, drift: isize) -> Result<usize, Misfit> {
        let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
        let expected = hunk.line.and_then(|line| (line - 1).checked_add_signed(drift));
        if old.is_empty() {
            return if self.lines.is_empty() { Ok(0) } else { Err(Misfit::NoContext) };
        }
        for compare in [Compare::Exactly, Compare::Trimmed] {
            let places = self.places(&old, from, compare)?;
            if !places.is_empty() {
                return choose(&places, expected);
            }
        }
        Err(Misfit::Nowhere { near: self.nearest(&old, from, expected) })
    }

    /// All places at or behind `from` where these lines stand.
    fn places(
        &mut self,
        old: &[&str],
        from: usize,
        compare: Compare,
    ) -> Result<Vec<usize>, Misfit> {
        if compare == Compare::Trimmed && self.trimmed.is_none() {
            self.trimmed = Some(index(&self.lines, compare));
        }
        let known = match compare {
            Compare::Exactly => &self.exact,
            Compare::Trimmed => self.trimmed.as_ref().unwrap_or(&self.exact),
        };
        // The line that stands in the fewest places.
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
                return Err(Misfit::TooMuch);
            }
            if same == old.len() {
                places.push(start);
            }
        }
        Ok(places)
    }

    /// The place where most lines stand where the hunk says.
    fn nearest(&self, old: &[&str], from: usize, expected: Option<usize>) -> Option<Near> {
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
        Some(Near {
            line: usize::try_from(start).unwrap_or(0) + 1,
            at: at + 1,
            found: self.lines.get(at).map(|line| (*line).to_owned()),
            wanted: wanted.to_owned(),
        })
    }
}

fn index<'a>(lines: &[&'a str], compare: Compare) -> HashMap<&'a str, Vec<usize>> {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        index.entry(compare.key(line)).or_default().push(at);
    }
    index
}

/// The place that is meant: the only one, or the one that stands where the header says, or nearest to it within the fuzz.
fn choose(places: &[usize], expected: Option<usize>) -> Result<usize, Misfit> {
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
    Err(Misfit::Several { lines, count: places.len() })
}
