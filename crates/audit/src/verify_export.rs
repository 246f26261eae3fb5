//! An export of the audit as JSON lines, which can be verified without the database it came from.
//!
//! For each chain: one line `chain` that says where it begins, its checkpoints, its records in
//! order, and one line `end`.
#![deny(clippy::indexing_slicing)]

use std::io::{self, BufRead, Read as _};

use serde::{Deserialize, Serialize};
use toolcrib_core::audit::Hash;
use toolcrib_core::{AuditCheckpoint, AuditRow, canonical_json};

use super::hash_chain::{ChainReport, ChainVerifier, Start};
use super::hex;
use super::verify::Evidence;

/// Longest line that is read: a record has some 700 bytes, or some kilobytes where a person was
/// asked.
const LINE_BYTES: u64 = 4 * 1024 * 1024;

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// A chain begins.
    Chain {
        /// The chain.
        chain: u64,
        /// Number of the record before the first one; 0 = the chain is whole.
        after: u64,
        /// The hash that the first record follows, as 64 hexadecimal digits.
        hash: String,
    },
    /// A checkpoint of that chain.
    Checkpoint(AuditCheckpoint),
    /// A record of that chain.
    Record(AuditRow),
    /// The chain ends here.
    End {
        /// The chain.
        chain: u64,
        /// Number of the last record.
        seq: u64,
    },
}

impl ExportLine {
    /// The line that begins a chain after the record with this number and hash.
    #[must_use]
    pub fn chain(chain: u64, after: u64, hash: &Hash) -> Self {
        Self::Chain { chain, after, hash: canonical_json::hex(hash) }
    }

    /// Its text, without a line break.
    #[must_use]
    pub fn text(&self) -> String {
        // What is plain data always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Why an export cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The system says so.
    #[error("cannot read the export: {0}")]
    Io(#[from] io::Error),
    /// A line is none of an export.
    #[error("line {line} is not a line of an audit export: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The last chain has no end.
    #[error("the export is cut off after line {line}: its last chain has no end")]
    Cut {
        /// Lines that are there.
        line: u64,
    },
    /// It holds no line.
    #[error("the export is empty")]
    Empty,
}

/// Verifies an export line by line. Anchors are held against it as against a database; those that
/// are newer than the export count as a cut tail, because nothing that is signed says when it was
/// made.
///
/// # Errors
/// [`ExportError`] when it is no whole export.
pub fn verify_export(
    mut lines: impl BufRead,
    evidence: &Evidence,
) -> Result<Vec<ChainReport>, ExportError> {
    let mut reader = Reader { evidence, reports: Vec::new(), open: None };
    let (mut number, mut line) = (0, Vec::new());
    loop {
        line.clear();
        if lines.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let at = |why: String| ExportError::Line { line: number, why };
        let parsed = serde_json::from_slice(&line).map_err(|error| at(error.to_string()))?;
        reader.line(parsed).map_err(|why| at(why.to_owned()))?;
    }
    match (reader.open, reader.reports.is_empty()) {
        (Some(_), _) => Err(ExportError::Cut { line: number }),
        (None, true) => Err(ExportError::Empty),
        (None, false) => Ok(reader.reports),
    }
}

struct Reader<'a> {
    evidence: &'a Evidence,
    reports: Vec<ChainReport>,
    open: Option<Open>,
}

/// The chain that is being read.
struct Open {
    chain: u64,
    start: Start,
    part: Part,
}

enum Part {
    Checkpoints(Vec<AuditCheckpoint>),
    Records(Box<ChainVerifier>),
}

impl Reader<'_> {
    fn line(&mut self, line: ExportLine) -> Result<(), &'static str> {
        match line {
            ExportLine::Chain { chain, after, hash } => self.begin(chain, after, &hash),
            ExportLine::Checkpoint(checkpoint) => {
                match self.open.as_mut().map(|open| &mut open.part) {
                    Some(Part::Checkpoints(checkpoints)) => {
                        checkpoints.push(checkpoint);
                        Ok(())
                    }
                    _ => Err("a checkpoint stands before the records of its chain"),
                }
            }
            ExportLine::Record(row) => {
                self.verifier().ok_or("a record stands in its chain")?.add(&row);
                Ok(())
            }
            ExportLine::End { chain, .. } => self.end(chain),
        }
    }

    fn begin(&mut self, chain: u64, after: u64, hash: &str) -> Result<(), &'static str> {
        if self.open.is_some() {
            return Err("the chain before has no end");
        }
        if self.reports.iter().any(|report| report.chain == chain) {
            return Err("this chain was there already");
        }
        let hash = hex::array(hash).ok_or("its hash is not 64 hexadecimal digits")?;
        let start = if after == 0 { Start::Genesis } else { Start::After { seq: after, hash } };
        self.open = Some(Open { chain, start, part: Part::Checkpoints(Vec::new()) });
        Ok(())
    }

    /// The verifier of the open chain. The first record ends its checkpoints.
    fn verifier(&mut self) -> Option<&mut ChainVerifier> {
        let open = self.open.as_mut()?;
        if let Part::Checkpoints(checkpoints) = &open.part {
            let verifier = self.evidence.verifier(open.chain, open.start, checkpoints);
            open.part = Part::Records(Box::new(verifier));
        }
        match &mut open.part {
            Part::Records(verifier) => Some(verifier),
            Part::Checkpoints(_) => None,
        }
    }

    fn end(&mut self, chain: u64) -> Result<(), &'static str> {
        if self.open.as_ref().is_none_or(|open| open.chain != chain) {
            return Err("it ends a chain that did not begin");
        }
        self.verifier();
        if let Some(Open { part: Part::Records(verifier), .. }) = self.open.take() {
            self.reports.push(verifier.finish());
        }
        Ok(())
    }
}
