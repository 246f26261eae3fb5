//! The anchor file: checkpoints as JSON lines, outside the database. The stores append to it; this
//! module reads it.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use toolcrib_core::AuditCheckpoint;

/// Longest line that is read; a checkpoint has about 350 bytes.
const LINE_BYTES: u64 = 64 * 1024;

/// The content of an anchor file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnchorFile {
    /// Checkpoints of all chains, in the order of the file.
    pub checkpoints: Vec<AuditCheckpoint>,
    /// Number of lines that are not checkpoints.
    pub torn: u64,
}

impl AnchorFile {
    /// Reads an anchor file.
    ///
    /// # Errors
    /// The I/O error, including a missing file.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::from_lines(BufReader::new(File::open(path)?))
    }

    /// Reads lines. A line that is not a checkpoint is counted and skipped: a process that dies
    /// while it writes leaves half a line, at the end or, if another process appends to it, in
    /// front of a complete line.
    ///
    /// # Errors
    /// The I/O error of the reader.
    pub fn from_lines(mut lines: impl BufRead) -> io::Result<Self> {
        let mut found = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
                return Ok(found);
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let (checkpoint, is_whole) = checkpoint(text);
            found.torn += u64::from(!is_whole);
            found.checkpoints.extend(checkpoint);
        }
    }
}

/// Returns the checkpoint in a line, and whether the line contains nothing else.
fn checkpoint(line: &[u8]) -> (Option<AuditCheckpoint>, bool) {
    if let Ok(whole) = serde_json::from_slice(line) {
        return (Some(whole), true);
    }
    // A checkpoint contains no nested objects, so the last brace begins the last one.
    let last = line.iter().rposition(|b| *b == b'{').and_then(|at| line.get(at..));
    (last.and_then(|text| serde_json::from_slice(text).ok()), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64) -> String {
        let checkpoint = AuditCheckpoint {
            chain: 1,
            seq,
            head: "00".into(),
            at: 5,
            key: "k".into(),
            signature: "s".into(),
        };
        serde_json::to_string(&checkpoint).unwrap()
    }

    #[test]
    fn torn_lines_take_no_whole_one_with_them() {
        let check = |text: &str, seqs: &[u64], torn: u64| {
            let found = AnchorFile::from_lines(text.as_bytes()).unwrap();
            let found_seqs: Vec<u64> = found.checkpoints.iter().map(|c| c.seq).collect();
            assert_eq!((found_seqs.as_slice(), found.torn), (seqs, torn), "{text}");
        };
        let (one, two) = (line(1), line(2));
        check("", &[], 0);
        check(&format!("{one}\n{two}\n"), &[1, 2], 0);
        check(&format!("{one}\r\n\n{two}"), &[1, 2], 0);
        check(&format!("{one}\n{}", &two[..9]), &[1], 1);
        check(&format!("{}\n{two}\n", &one[..20]), &[2], 1);
        check(&format!("{}{two}\n", &one[..20]), &[2], 1);
        check("null\n[]\n\u{0}\n", &[], 3);
    }
}
