//! Output log of a background process: the newest lines of both streams in the order of arrival.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;

/// Bytes kept; older lines are dropped.
const KEPT: usize = 1024 * 1024;

/// Longest line, in bytes; longer ones are split.
const LINE: usize = 4096;

/// Numbered lines, from 0.
#[derive(Debug, Default)]
pub(crate) struct OutputLog {
    lines: VecDeque<String>,
    /// Number of the first stored line.
    first: u64,
    bytes: usize,
    /// The incomplete line of each stream.
    open: [Vec<u8>; 2],
}

/// A range of lines of a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogPage {
    /// The lines.
    pub(crate) lines: Vec<String>,
    /// Number of the first line in the page.
    pub(crate) from: u64,
    /// Lines written in total; the last one may be incomplete.
    pub(crate) total: u64,
    /// Number of the first line that is still stored.
    pub(crate) kept_from: u64,
}

impl OutputLog {
    /// Adds output of one stream (0 or 1).
    pub(crate) fn push(&mut self, stream: usize, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(open) = self.open.get_mut(stream) else { return };
            open.extend_from_slice(piece);
            while self
                .open
                .get(stream)
                .is_some_and(|open| open.len() > LINE || open.ends_with(b"\n"))
            {
                self.finish(stream);
            }
        }
    }

    /// Completes the incomplete lines.
    pub(crate) fn close(&mut self) {
        for stream in 0..self.open.len() {
            while self.open.get(stream).is_some_and(|open| !open.is_empty()) {
                self.finish(stream);
            }
        }
    }

    /// Returns at most `limit` lines from this number on; without a number, the last ones.
    pub(crate) fn page(&self, offset: Option<u64>, limit: usize) -> LogPage {
        let open = self.open.iter().filter(|open| !open.is_empty());
        let open = open.map(|open| String::from_utf8_lossy(open).into_owned());
        let all: Vec<String> = self.lines.iter().cloned().chain(open).collect();
        let count = all.len() as u64;
        let total = self.first + count;
        let last = total.saturating_sub(limit as u64);
        let from = offset.unwrap_or(last).clamp(self.first, total);
        let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let lines = all.into_iter().skip(skip).take(limit).collect();
        LogPage { lines, from, total, kept_from: self.first }
    }

    fn finish(&mut self, stream: usize) {
        let Some(open) = self.open.get_mut(stream) else { return };
        let rest = open.split_off(open.len().min(LINE));
        let line = std::mem::replace(open, rest);
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > KEPT {
            let Some(gone) = self.lines.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(gone.len() + 1);
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(log: &OutputLog, offset: Option<u64>, limit: usize) -> (Vec<String>, u64, u64) {
        let LogPage { lines, from, total, .. } = log.page(offset, limit);
        (lines, from, total)
    }

    #[test]
    fn lines_are_numbered_and_paged() {
        let mut log = OutputLog::default();
        log.push(0, b"one\ntwo\nthr");
        log.push(1, b"error\n");
        log.push(0, b"ee\r\nopen");
        let all = ["one", "two", "error", "three", "open"].map(str::to_owned);
        assert_eq!(page(&log, None, 10), (all.to_vec(), 0, 5));
        assert_eq!(page(&log, None, 2), (all[3..].to_vec(), 3, 5));
        assert_eq!(page(&log, Some(1), 2), (all[1..3].to_vec(), 1, 5));
        assert_eq!(page(&log, Some(9), 2), (Vec::new(), 5, 5));
        log.close();
        assert_eq!(page(&log, None, 10), (all.to_vec(), 0, 5));
    }

    #[test]
    fn memory_is_bounded_and_numbers_stay() {
        let mut log = OutputLog::default();
        for number in 0..200_000 {
            log.push(0, format!("line {number}\n").as_bytes());
        }
        let kept = log.page(Some(0), 1);
        assert!(kept.from > 0 && kept.from == kept.kept_from);
        assert_eq!(kept.lines, [format!("line {}", kept.from)]);
        assert!(log.bytes <= KEPT);
        log.push(1, &vec![b'x'; 10 * LINE]);
        let page = log.page(None, 100);
        assert!(page.lines.iter().all(|line| line.len() <= LINE));
    }
}
