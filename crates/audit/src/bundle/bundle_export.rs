//! Writes a bundle as a stream: only one file of the archive at a time is in memory.
#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use toolcrib_core::{AuditSigner, AuditStore, StoreError, canonical_json};

use super::layout::{ANCHORS, KEYS, README, README_TEXT, RECORDS, RULES, TOOLS, VERIFIER};
use super::tar_writer::TarWriter;
use crate::export_writer::{ExportFrom, Exporter};
use crate::{AnchorFile, ExportLine};

/// The content of a bundle besides the records. The texts are written unchanged: the caller leaves
/// secrets out.
#[derive(Debug, Clone, Default)]
pub struct BundleContents {
    /// Public keys, one per line; comments begin with `#`.
    pub keys: String,
    /// The anchors, read before the export begins; newer ones would be ahead of the records.
    pub anchors: AnchorFile,
    /// The rules in force, as JSON texts.
    pub rules: Vec<String>,
    /// The tool definitions in force, as canonical JSON; their SHA-256 is the `definition_hash` of
    /// records.
    pub tools: Vec<String>,
}

/// The reasons why a bundle cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The audit cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive cannot be written.
    #[error("cannot write the bundle: {0}")]
    Io(#[from] io::Error),
}

/// A bundle export in progress. Records that are newer than its start are not part of it.
pub struct BundleExport<'a> {
    exporter: Exporter<'a>,
    /// `None` once the archive is complete.
    writer: Option<TarWriter>,
    /// Files before the records, as path and content.
    head: VecDeque<(String, Vec<u8>)>,
    parts: u64,
    signer: Arc<dyn AuditSigner>,
}

impl<'a> BundleExport<'a> {
    /// Starts a bundle of the whole audit; `signer` signs its list of sums at the end.
    ///
    /// # Errors
    /// [`StoreError`] if the chains cannot be read.
    pub async fn new(
        store: &'a dyn AuditStore,
        signer: Arc<dyn AuditSigner>,
        contents: BundleContents,
    ) -> Result<Self, StoreError> {
        let exporter = Exporter::new(store, ExportFrom::Beginning).await?;
        Ok(Self {
            exporter,
            writer: Some(TarWriter::new()),
            head: head(contents),
            parts: 0,
            signer,
        })
    }

    /// Returns the number of records written so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.exporter.records()
    }

    /// Returns the next bytes of the archive, at most a few megabytes; `None` at the end.
    ///
    /// # Errors
    /// [`BundleError`].
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, BundleError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        if let Some((path, content)) = self.head.pop_front() {
            return Ok(Some(writer.add(&path, &content)?));
        }
        if let Some(lines) = self.exporter.next().await? {
            self.parts += 1;
            return Ok(Some(writer.add(&part_path(self.parts), &json_lines(&lines))?));
        }
        let Some(writer) = self.writer.take() else { return Ok(None) };
        Ok(Some(writer.finish(&*self.signer)?))
    }
}

/// Pads the number to ten digits, so that names in order are parts in order.
fn part_path(part: u64) -> String {
    format!("{RECORDS}{part:010}.jsonl")
}

fn json_lines(lines: &[ExportLine]) -> Vec<u8> {
    lines.iter().flat_map(|line| (line.text() + "\n").into_bytes()).collect()
}

fn head(contents: BundleContents) -> VecDeque<(String, Vec<u8>)> {
    let BundleContents { keys, anchors, rules, tools } = contents;
    let anchors: String = anchors
        .checkpoints
        .iter()
        .filter_map(|anchor| serde_json::to_string(anchor).ok())
        .map(|line| line + "\n")
        .collect();
    let mut head = VecDeque::from([
        (README.to_owned(), README_TEXT.into()),
        (VERIFIER.to_owned(), include_bytes!("verify.py").to_vec()),
        (KEYS.to_owned(), keys.into_bytes()),
        (ANCHORS.to_owned(), anchors.into_bytes()),
    ]);
    for (folder, texts) in [(RULES, rules), (TOOLS, tools)] {
        let by_digest = |text: String| {
            (format!("{folder}{}.json", canonical_json::sha256_text(&text)), text.into_bytes())
        };
        let mut files: Vec<_> = texts.into_iter().map(by_digest).collect();
        files.sort_unstable();
        files.dedup();
        head.extend(files);
    }
    head
}
