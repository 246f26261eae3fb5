//! An export of the audit as JSON lines, which can be verified without its database.
//!
//! For each chain: one `chain` line with its start, its checkpoints, its records in order, and one
//! `end` line.
#![deny(clippy::indexing_slicing)]

use std::io::{self, BufRead, Read as _};

use serde::{Deserialize, Serialize};
use toolcrib_core::audit::Hash;
use toolcrib_core::{AuditCheckpoint, AuditRow, canonical_json};

use super::hash_chain::{ChainReport, ChainVerifier, Start};
use super::hex;
use super::verify::Evidence;

/// Longest line that is read: a record has about 700 bytes, or some kilobytes after an approval
/// request.
const LINE_BYTES: u64 = 4 * 1024 * 1024;

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// The start of a chain.
    Chain {
        /// The chain.
        chain: u64,
        /// Number of the record before the first one; 0 if the chain is complete.
        after: u64,
        /// The hash that the first record follows, as 64 hexadecimal digits.
        hash: String,
    },
    /// A checkpoint of that chain.
    Checkpoint(AuditCheckpoint),
    /// A record of that chain.
    Record(AuditRow),
    /// The end of a chain.
    End {
        /// The chain.
        chain: u64,
        /// Number of the last record.
        seq: u64,
    },
}

impl ExportLine {
    /// Creates the line that begins a chain after the record with this number and hash.
    #[must_use]
    pub fn chain(chain: u64, after: u64, hash: &Hash) -> Self {
        Self::Chain { chain, after, hash: canonical_json::hex(hash) }
    }

    /// Returns the line as text, without a line break.
    #[must_use]
    pub fn text(&self) -> String {
        // Plain data always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The reasons why an export cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// An I/O error.
    #[error("cannot read the export: {0}")]
    Io(#[from] io::Error),
    /// A line is not a line of an export.
    #[error("line {line} is not a line of an audit export: {why}")]
    Line {
        /// The line number, from 1.
        line: u64,
        /// The problem.
        why: String,
    },
    /// The last chain has no end.
    #[error("the export is truncated after line {line}: its last chain has no end")]
    Cut {
        /// Number of lines read.
        line: u64,
    },
    /// The export contains no lines.
    #[error("the export is empty")]
    Empty,
}

/// Verifies an export line by line. Anchors are compared as with a database; those that are newer
/// than the export count as a truncated tail, because no signed data contains the time of the
/// export.
///
/// # Errors
/// [`ExportError`] if the export is not complete.
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

    /// Returns the verifier of the open chain. The first record ends its checkpoints.
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
