//! Lines of files that match a pattern, found by the parts that ripgrep is made of: linear in time whatever the pattern, binary files passed.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use toolcrib_core::CancellationToken;

use crate::fs::sweep::Visit;

/// Bytes of a pattern.
pub(crate) const MAX_PATTERN: usize = 4000;
/// Bytes that a compiled pattern and its caches may take.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// Bytes of one line; a file with a longer one is passed as if it were binary.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Characters of a line that are shown (SPEC 3.6: 200).
const SHOWN: usize = 200;
/// Characters before a match that are shown of a longer line.
const BEFORE: usize = 60;

/// What is searched for, and how much of it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) matcher: RegexMatcher,
    /// Lines around a match.
    pub(crate) context: usize,
    /// Matching lines kept of one file.
    pub(crate) per_file: usize,
    /// Matching lines kept in all.
    pub(crate) in_all: usize,
}

/// The pattern compiled; the error is a fragment.
pub(crate) fn matcher(
    pattern: &str,
    literal: bool,
    case_sensitive: bool,
    whole_words: bool,
) -> Result<RegexMatcher, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("it is longer than {MAX_PATTERN} bytes"));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .case_insensitive(!case_sensitive)
        .word(whole_words)
        .fixed_strings(literal)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// A line that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its number, from 1.
    pub(crate) line: u64,
    /// Its text without its end, cut around the match.
    pub(crate) text: String,
    /// Whether it matches, or stands around one that does.
    pub(crate) matches: bool,
}

/// What was found in one file.
#[derive(Debug)]
pub(crate) struct InFile {
    pub(crate) path: PathBuf,
    pub(crate) hits: Vec<Hit>,
    /// Matching lines, those that were not kept included.
    pub(crate) matches: u64,
}

/// What was found in all files.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files with matches that are kept: the first by their paths.
    pub(crate) files: Vec<InFile>,
    /// Matching lines.
    pub(crate) matches: u64,
    /// Files with matches.
    pub(crate) matching: u64,
    /// Files that were searched.
    pub(crate) searched: u64,
    /// Files that could not be read to their end.
    pub(crate) unread: u64,
}

impl Found {
    fn kept(&self) -> usize {
        self.files
            .iter()
            .map(|file| file.hits.iter().filter(|hit| hit.matches).count().max(1))
            .sum()
    }

    /// Adds what somebody else found.
    pub(crate) fn join(&mut self, other: Self) {
        self.files.extend(other.files);
        self.matches += other.matches;
        self.matching += other.matching;
        self.searched += other.searched;
        self.unread += other.unread;
    }

    /// Sorts by path and keeps at most so many matching lines.
    pub(crate) fn cut(&mut self, most: usize) {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut room = most;
        self.files.retain_mut(|file| {
            if room == 0 {
                return false;
            }
            let mut left = room;
            let end = file.hits.iter().position(|hit| {
                let is_over = hit.matches && left == 0;
                left = left.saturating_sub(usize::from(hit.matches));
                is_over
            });
            if let Some(end) = end {
                file.hits.truncate(end);
            }
            // A file without lines counts too, when only files are listed.
            room -= file.hits.iter().filter(|hit| hit.matches).count().max(1).min(room);
            true
        });
    }
}

/// Searches one file after the other.
pub(crate) struct Finder<'a> {
    query: Query,
    searcher: Searcher,
    wants: &'a (dyn Fn(&Path) -> bool + Sync),
    until: Instant,
    cancel: &'a CancellationToken,
    pub(crate) found: Found,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(
        query: &Query,
        wants: &'a (dyn Fn(&Path) -> bool + Sync),
        until: Instant,
        cancel: &'a CancellationToken,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(query.context)
            .after_context(query.context)
            .heap_limit(Some(MAX_LINE))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self { query: query.clone(), searcher, wants, until, cancel, found: Found::default() }
    }
}

impl Visit for Finder<'_> {
    fn wants(&self, path: &Path) -> bool {
        (self.wants)(path)
    }

    fn file(&mut self, path: &Path, file: File, _: u64) {
        let reader = Bounded { file, until: self.until, cancel: self.cancel };
        let mut sink = Lines { query: &self.query, hits: Vec::new(), matches: 0, is_open: false };
        let searched = self.searcher.search_reader(&self.query.matcher, reader, &mut sink);
        let Lines { hits, matches, .. } = sink;
        self.found.searched += 1;
        self.found.unread += u64::from(searched.is_err());
        if matches == 0 {
            return;
        }
        self.found.matches += matches;
        self.found.matching += 1;
        self.found.files.push(InFile { path: path.to_owned(), hits, matches });
        // Whatever else is found, only the first of these can be shown.
        if self.found.files.len().is_multiple_of(64) && self.found.kept() > 4 * self.query.in_all {
            self.found.cut(self.query.in_all);
        }
    }
}

/// Bytes of a file until the time is over or the call is stopped.
struct Bounded<'a> {
    file: File,
    until: Instant,
    cancel: &'a CancellationToken,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() || Instant::now() >= self.until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

/// The lines of one file.
struct Lines<'a> {
    query: &'a Query,
    hits: Vec<Hit>,
    matches: u64,
    /// Whether the last match was kept, and so is what stands behind it.
    is_open: bool,
}

impl Lines<'_> {
    fn has_room(&self) -> bool {
        self.matches < self.query.per_file.min(self.query.in_all) as u64
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.is_open = self.has_room();
        if self.is_open {
            let at = self.query.matcher.find(found.bytes()).ok().flatten().map_or(0, |m| m.start());
            let line = found.line_number().unwrap_or(0);
            self.hits.push(Hit { line, text: shown(found.bytes(), at), matches: true });
        }
        self.matches += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let keeps = match around.kind() {
            SinkContextKind::Before => self.has_room(),
            _ => self.is_open,
        };
        if keeps {
            let line = around.line_number().unwrap_or(0);
            self.hits.push(Hit { line, text: shown(around.bytes(), 0), matches: false });
        }
        Ok(true)
    }

    /// What a binary file says is nothing to be read.
    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.hits.clear();
        self.matches = 0;
        Ok(false)
    }
}

/// A line without its end; of a long one, what stands around the match, which begins at this byte.
fn shown(line: &[u8], at: usize) -> String {
    let head = String::from_utf8_lossy(line.get(..at).unwrap_or_default());
    let tail = String::from_utf8_lossy(line.get(at..).unwrap_or_default());
    let tail = tail.trim_end_matches(['\n', '\r']);
    let before = head.chars().count();
    let skipped = if before + tail.chars().take(SHOWN + 1).count() <= SHOWN {
        0
    } else {
        before.saturating_sub(BEFORE)
    };
    let start = if skipped > 0 { "..." } else { "" };
    let mut rest = head.chars().skip(skipped).chain(tail.chars());
    let text: String = rest.by_ref().take(SHOWN).collect();
    let end = if rest.next().is_some() { "..." } else { "" };
    format!("{start}{text}{end}")
}
