//! Content search: lines of files that match a regular expression, built on ripgrep's libraries.
//! Matching is linear in time for every pattern, and binary files are skipped.
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

use crate::fs::parallel_walk::FileVisitor;

/// Longest pattern, in bytes.
pub(crate) const MAX_PATTERN: usize = 4000;
/// Memory limit of a compiled pattern and its caches, in bytes.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// Longest line, in bytes; a file with a longer line is skipped as if it were binary.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Characters of a line in the result.
const SHOWN: usize = 200;
/// Characters before the match that are kept when a longer line is cut.
const BEFORE: usize = 60;

/// A search: the pattern, and how much of its matches to keep.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) matcher: RegexMatcher,
    /// Context lines before and after a match.
    pub(crate) context: usize,
    /// Matching lines kept per file.
    pub(crate) per_file: usize,
    /// Matching lines kept in total.
    pub(crate) in_all: usize,
}

/// Compiles the pattern; the error is a sentence fragment.
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

/// A line of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchedLine {
    /// Line number, from 1.
    pub(crate) line: u64,
    /// The text without its line end, cut around the match.
    pub(crate) text: String,
    /// `true` for a matching line, `false` for a context line.
    pub(crate) matches: bool,
}

/// The matches in one file.
#[derive(Debug)]
pub(crate) struct FileMatches {
    pub(crate) path: PathBuf,
    pub(crate) hits: Vec<MatchedLine>,
    /// Matching lines, including those that were not kept.
    pub(crate) matches: u64,
}

/// The matches in all files.
#[derive(Debug, Default)]
pub(crate) struct SearchResults {
    /// Files with matches; only those first in path order are kept.
    pub(crate) files: Vec<FileMatches>,
    /// Matching lines.
    pub(crate) matches: u64,
    /// Files with matches.
    pub(crate) matching: u64,
    /// Files that were searched.
    pub(crate) searched: u64,
    /// Files that could not be read to their end.
    pub(crate) unread: u64,
}

impl SearchResults {
    fn kept(&self) -> usize {
        self.files
            .iter()
            .map(|file| file.hits.iter().filter(|hit| hit.matches).count().max(1))
            .sum()
    }

    /// Adds the results of another searcher.
    pub(crate) fn merge(&mut self, other: Self) {
        self.files.extend(other.files);
        self.matches += other.matches;
        self.matching += other.matching;
        self.searched += other.searched;
        self.unread += other.unread;
    }

    /// Sorts by path and keeps at most `most` matching lines.
    pub(crate) fn truncate(&mut self, most: usize) {
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
            // A file without lines counts as one, for searches that list files only.
            room -= file.hits.iter().filter(|hit| hit.matches).count().max(1).min(room);
            true
        });
    }
}

/// Searches files one after the other and collects their matches.
pub(crate) struct FileSearcher<'a> {
    query: Query,
    searcher: Searcher,
    wants: &'a (dyn Fn(&Path) -> bool + Sync),
    until: Instant,
    cancel: &'a CancellationToken,
    pub(crate) found: SearchResults,
}

impl<'a> FileSearcher<'a> {
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
        Self {
            query: query.clone(),
            searcher,
            wants,
            until,
            cancel,
            found: SearchResults::default(),
        }
    }
}

impl FileVisitor for FileSearcher<'_> {
    fn wants(&self, path: &Path) -> bool {
        (self.wants)(path)
    }

    fn file(&mut self, path: &Path, file: File, _: u64) {
        let reader = DeadlineReader { file, until: self.until, cancel: self.cancel };
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
        self.found.files.push(FileMatches { path: path.to_owned(), hits, matches });
        // Bounds memory: the result has at most `in_all` lines, so truncating every 64 files loses
        // nothing that the search would return.
        if self.found.files.len().is_multiple_of(64) && self.found.kept() > 4 * self.query.in_all {
            self.found.truncate(self.query.in_all);
        }
    }
}

/// Reader that fails after the deadline or when the call is cancelled.
struct DeadlineReader<'a> {
    file: File,
    until: Instant,
    cancel: &'a CancellationToken,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() || Instant::now() >= self.until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

/// Collects the matching and context lines of one file.
struct Lines<'a> {
    query: &'a Query,
    hits: Vec<MatchedLine>,
    matches: u64,
    /// Whether the last match was kept; its context lines are then kept too.
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
            self.hits.push(MatchedLine { line, text: shown(found.bytes(), at), matches: true });
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
            self.hits.push(MatchedLine { line, text: shown(around.bytes(), 0), matches: false });
        }
        Ok(true)
    }

    /// Drops the matches of a file that turns out to be binary.
    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.hits.clear();
        self.matches = 0;
        Ok(false)
    }
}

/// Renders a line without its line end, cut to [`SHOWN`] characters around the match that begins at
/// byte `at`.
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
