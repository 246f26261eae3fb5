//! Reads the text of files window by window.
//!
//! A file of more than one window is stored in a folder until it is read, so that another process
//! can continue when this one ends. The process that reads a file holds its lock.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{RwLock, Semaphore};
use toolcrib_core::DocumentChunk;
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_tool_search::{Model, encode_passage};

use super::chunk_text;
use super::error::DocumentError;
use super::extract::{TextExtractor, TextWindow};

/// Chunks that are written at once.
const BATCH: usize = 200;
/// Maximum chunks of one document: those of 10,000 full pages.
pub(super) const MAX_CHUNKS: u32 = 50_000;

/// A file that waits to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingFile {
    pub(super) owner: String,
    pub(super) document: String,
    pub(super) name: String,
}

/// Reads files and writes chunks.
#[derive(Clone)]
pub(super) struct Indexer {
    pub(super) chunks: Arc<dyn DocumentChunkStore>,
    pub(super) extractor: Arc<dyn TextExtractor>,
    /// Folder that stores files until they are read; `None` to read them immediately.
    pub(super) folder: Option<PathBuf>,
    /// Lets one file be read at a time, which bounds memory.
    pub(super) turn: Arc<Semaphore>,
    /// Each file that this process still reads holds a read lock, so that a writer waits for all of
    /// them.
    pub(super) open: Arc<RwLock<()>>,
}

impl Indexer {
    /// Writes the chunks of a window, numbered from `first`; returns their number.
    pub(super) async fn write_window(
        &self,
        owner: &str,
        document: &str,
        first: u32,
        window: &TextWindow,
    ) -> Result<u32, DocumentError> {
        let model = Model::builtin().map_err(|error| DocumentError::Index(error.to_string()))?;
        let mut number = first;
        let mut batch = Vec::new();
        for (page, text) in &window.parts {
            for (start, piece) in chunk_text::split(text) {
                if number >= MAX_CHUNKS {
                    break;
                }
                let vector = encode_passage(&model, piece);
                let text = piece.to_owned();
                batch.push(DocumentChunk { number, page: *page, start, text, vector });
                number += 1;
                if batch.len() >= BATCH {
                    let full = std::mem::take(&mut batch);
                    self.chunks.put_chunks(owner, document, full).await?;
                    // Embedding is CPU work: yield to other tasks between batches.
                    tokio::task::yield_now().await;
                }
            }
        }
        self.chunks.put_chunks(owner, document, batch).await?;
        Ok(number - first)
    }

    /// Stores a file; `None` without a folder.
    pub(super) fn keep(
        &self,
        kept: &PendingFile,
        bytes: &[u8],
    ) -> Result<Option<File>, DocumentError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let write = || -> std::io::Result<File> {
            fs::create_dir_all(folder)?;
            let mut file = File::create(content_path(folder, &kept.document))?;
            file.write_all(bytes)?;
            file.lock()?;
            fs::write(note_path(folder, &kept.document), serde_json::to_vec(kept)?)?;
            Ok(file)
        };
        write().map(Some).map_err(|error| DocumentError::Index(error.to_string()))
    }

    /// Removes a file that was read.
    pub(super) fn forget(&self, document: &str) {
        let Some(folder) = &self.folder else { return };
        // A remaining file is found again later and has nothing more to read.
        let _ = fs::remove_file(note_path(folder, document));
        let _ = fs::remove_file(content_path(folder, document));
    }

    /// Returns the files that other processes left, locked, with their content.
    pub(super) fn left_over(&self) -> Vec<(PendingFile, File, Vec<u8>)> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let notes = entries.map(|entry| entry.path());
        notes
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .filter_map(take)
            .collect()
    }
}

/// Locks and reads one stored file; `None` if another process reads it or it no longer exists.
fn take(note: PathBuf) -> Option<(PendingFile, File, Vec<u8>)> {
    let kept: PendingFile = serde_json::from_slice(&fs::read(&note).ok()?).ok()?;
    let path = content_path(note.parent()?, &kept.document);
    let file = File::open(&path).ok()?;
    file.try_lock().ok()?;
    let bytes = fs::read(&path).ok()?;
    // The process that held the lock may have finished while this one opened the file.
    note.exists().then_some((kept, file, bytes))
}

fn content_path(folder: &Path, document: &str) -> PathBuf {
    folder.join(format!("{document}.file"))
}

fn note_path(folder: &Path, document: &str) -> PathBuf {
    folder.join(format!("{document}.json"))
}
