//! The documents of all owners, and all operations on them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::{RwLock, Semaphore};
use toolcrib_core::similar_names::similar_names;
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::error::DocumentError;
use super::extract::{TextExtractor, TextWindow};
use super::indexing::{Indexer, MAX_CHUNKS, PendingFile};
use super::model::{Document, DocumentStatus, MAX_BYTES};
use super::search::{self, Passage, Vectors};
use crate::rows::{RowError, Stored, TypedRows, Writer};

/// Maximum documents of one owner.
pub const MAX_DOCUMENTS: usize = 2_000;
/// How long a deleted document can be restored, in milliseconds: 30 days.
const RESTORABLE: i64 = 30 * 24 * 3_600_000;
/// Maximum characters of a name.
const MAX_NAME: usize = 200;

/// The documents of all owners. Clones share them.
#[derive(Clone)]
pub struct Documents {
    rows: TypedRows<Document>,
    pub(super) indexer: Indexer,
    vectors: Arc<Vectors>,
}

/// The result of one step of deleting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// Nothing was deleted yet: the code confirms the deletion.
    Asked {
        /// The document.
        document: Document,
        /// The code.
        code: String,
    },
    /// The document is deleted, and can be restored for 30 days.
    Done(Document),
}

impl Documents {
    /// Creates documents in these stores. `folder` stores long files until they are read.
    #[must_use]
    pub fn new(
        rows: Arc<dyn AssistantRowStore>,
        chunks: Arc<dyn DocumentChunkStore>,
        extractor: Arc<dyn TextExtractor>,
        folder: Option<PathBuf>,
    ) -> Self {
        let turn = Arc::new(Semaphore::new(1));
        let open = Arc::new(RwLock::new(()));
        let indexer = Indexer { chunks, extractor, folder, turn, open };
        let rows = TypedRows::new(rows, RowKind::Document);
        Self { rows, indexer, vectors: Arc::default() }
    }

    /// Adds a file. When this returns, its first window can be found; the rest of a long file is
    /// read in the background, or by [`Self::finish`]. If the file already exists, it is returned,
    /// and restored if it was deleted.
    ///
    /// # Errors
    /// [`DocumentError`] if it cannot be read or has no text; then nothing is stored.
    pub async fn add(
        &self,
        writer: &Writer,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Document, DocumentError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control)
        {
            return Err(DocumentError::BadName);
        }
        if bytes.len() > MAX_BYTES {
            return Err(DocumentError::TooLarge(bytes.len() as u64));
        }
        let id = format!("doc_{}", hex(&Sha256::digest(&bytes), 8));
        let all = self.rows.all(&writer.owner).await?;
        if let Some(there) = all.iter().find(|row| row.key == id) {
            // A document whose reading failed is read again.
            let is_whole = there.body.status != DocumentStatus::Failed;
            if is_whole && there.body.is_there() {
                return Ok(there.body.clone());
            }
            if is_whole {
                return self.restore(writer, &id).await;
            }
        } else if all.len() >= MAX_DOCUMENTS {
            return Err(DocumentError::Full);
        }
        let window = self.indexer.extractor.extract(name, &bytes, 1).await;
        let window = window.map_err(|error| DocumentError::Unreadable(error.message))?;
        let has_text = window.parts.iter().any(|(_, text)| !text.trim().is_empty());
        if !has_text && window.next.is_none() {
            return Err(DocumentError::NoText(name.to_owned()));
        }
        // Remove chunks that a failed attempt left.
        self.indexer.chunks.delete_chunks(&writer.owner, &id).await?;
        let chunks = self.indexer.write_window(&writer.owner, &id, 0, &window).await?;
        let document = Document {
            id: id.clone(),
            name: name.to_owned(),
            format: window.format.clone(),
            unit: window.unit.clone(),
            status: status_after(&window, chunks),
            parts: window.count,
            next_part: window.next.unwrap_or_default(),
            chunks,
            bytes: bytes.len() as u64,
            problem: problem_of(&window, chunks),
            added_at: self.rows.now(),
            deleted_at: None,
            untrusted: writer.untrusted.clone(),
        };
        let kept = PendingFile {
            owner: writer.owner.clone(),
            document: id.clone(),
            name: name.to_owned(),
        };
        let is_long = document.status == DocumentStatus::Indexing;
        let lock = if is_long { self.indexer.keep(&kept, &bytes)? } else { None };
        let note = format!("added {name}");
        let row = document.clone();
        self.rows
            .change(writer, &id, |_| Ok::<_, DocumentError>((Some(row.clone()), note.clone(), ())))
            .await?;
        if is_long {
            let (this, open) = (self.clone(), Arc::clone(&self.indexer.open).read_owned().await);
            tokio::spawn(async move {
                this.read_rest(kept, lock, bytes).await;
                drop(open);
            });
        }
        Ok(document)
    }

    /// Reads the files that a process left unread, and waits for those that this process reads.
    ///
    /// # Errors
    /// [`DocumentError::Row`]; the row of a file contains the problem of that file.
    pub async fn finish(&self) -> Result<(), DocumentError> {
        for (kept, lock, bytes) in self.indexer.left_over() {
            self.read_rest(kept, Some(lock), bytes).await;
        }
        drop(self.indexer.open.write().await);
        self.purge().await
    }

    /// Reads the remaining windows of a file.
    async fn read_rest(&self, kept: PendingFile, lock: Option<File>, bytes: Vec<u8>) {
        let Ok(_turn) = self.indexer.turn.acquire().await else { return };
        let writer = Writer {
            owner: kept.owner.clone(),
            author: Author::person("indexing"),
            untrusted: None,
        };
        loop {
            let Ok(Some(row)) = self.rows.get(&kept.owner, &kept.document).await else { break };
            let before = row.body;
            if before.status != DocumentStatus::Indexing {
                break;
            }
            let after = match self.read_window(&kept, &before, &bytes).await {
                Ok(after) => after,
                // The store does not respond; another process continues later.
                Err(DocumentError::Row(_)) => return,
                Err(error) => Document {
                    status: DocumentStatus::Failed,
                    problem: Some(error.to_string()),
                    ..before
                },
            };
            let change = |now: Option<Document>| {
                // A person may have deleted the document meanwhile.
                let next = now.map(|now| Document { deleted_at: now.deleted_at, ..after.clone() });
                Ok::<_, DocumentError>((next, format!("read {}", kept.name), ()))
            };
            if self.rows.change(&writer, &kept.document, change).await.is_err() {
                return;
            }
        }
        self.indexer.forget(&kept.document);
        drop(lock);
    }

    async fn read_window(
        &self,
        kept: &PendingFile,
        before: &Document,
        bytes: &[u8],
    ) -> Result<Document, DocumentError> {
        let extracted = self.indexer.extractor.extract(&kept.name, bytes, before.next_part).await;
        let window = extracted.map_err(|error| DocumentError::Unreadable(error.message))?;
        let next = window.next.unwrap_or_default();
        // A reader that does not advance would loop forever.
        if window.next.is_some() && next <= before.next_part {
            return Err(DocumentError::Unreadable("The file could not be read to its end.".into()));
        }
        let first = before.chunks;
        let new = self.indexer.write_window(&kept.owner, &kept.document, first, &window).await?;
        let chunks = first + new;
        Ok(Document {
            status: status_after(&window, chunks),
            next_part: next,
            chunks,
            problem: problem_of(&window, chunks).or_else(|| before.problem.clone()),
            ..before.clone()
        })
    }

    /// Lists all documents, the newest first; with `deleted`, those that can be restored.
    ///
    /// # Errors
    /// [`DocumentError::Row`].
    pub async fn list(&self, owner: &str, deleted: bool) -> Result<Vec<Document>, DocumentError> {
        let all = self.rows.all(owner).await?.into_iter().map(|row| row.body);
        let mut all: Vec<Document> = all.filter(|one| one.is_there() != deleted).collect();
        all.sort_by(|a, b| (b.added_at, &a.name).cmp(&(a.added_at, &b.name)));
        Ok(all)
    }

    /// Returns the passages that match a query best, each with its document.
    ///
    /// # Errors
    /// [`DocumentError::NoQuery`], [`DocumentError::Row`], [`DocumentError::Index`].
    pub async fn search(
        &self,
        owner: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<(Document, Passage)>, DocumentError> {
        let documents = self.list(owner, false).await?;
        let store = &*self.indexer.chunks;
        let found = search::find(store, &self.vectors, owner, query, limit, &documents).await?;
        let with_document = |passage: Passage| {
            let document = documents.iter().find(|document| document.id == passage.document)?;
            Some((document.clone(), passage))
        };
        Ok(found.into_iter().filter_map(with_document).collect())
    }

    /// Deletes a document in two steps: without the right code nothing is deleted.
    ///
    /// # Errors
    /// [`DocumentError::Unknown`], [`DocumentError::WrongCode`], [`DocumentError::Row`].
    pub async fn delete(
        &self,
        writer: &Writer,
        name: &str,
        code: Option<&str>,
    ) -> Result<Deletion, DocumentError> {
        let Stored { key, revision, body: document } =
            self.find(&writer.owner, name, false).await?;
        // The code depends on the revision: after a change of the document, a new confirmation is
        // needed.
        let right = hex(&Sha256::digest(format!("{key} {revision}")), 3);
        match code {
            None => Ok(Deletion::Asked { document, code: right }),
            Some(code) if code.trim() != right => Err(DocumentError::WrongCode),
            Some(_) => Ok(Deletion::Done(self.delete_now(writer, &key).await?)),
        }
    }

    /// Deletes a document in one step, for people.
    ///
    /// # Errors
    /// [`DocumentError::Unknown`], [`DocumentError::Row`].
    pub async fn delete_now(&self, writer: &Writer, name: &str) -> Result<Document, DocumentError> {
        let key = self.find(&writer.owner, name, false).await?.key;
        let at = self.rows.now();
        self.set_deleted(writer, &key, Some(at), "deleted").await
    }

    /// Restores a deleted document.
    ///
    /// # Errors
    /// [`DocumentError::Unknown`], [`DocumentError::NotDeleted`], [`DocumentError::Row`].
    pub async fn restore(&self, writer: &Writer, name: &str) -> Result<Document, DocumentError> {
        match self.find(&writer.owner, name, true).await {
            Ok(found) => self.set_deleted(writer, &found.key, None, "restored").await,
            Err(error) => match self.find(&writer.owner, name, false).await {
                Ok(there) => Err(DocumentError::NotDeleted(there.body.name)),
                Err(_) => Err(error),
            },
        }
    }

    async fn set_deleted(
        &self,
        writer: &Writer,
        key: &str,
        deleted_at: Option<i64>,
        verb: &str,
    ) -> Result<Document, DocumentError> {
        self.rows
            .change(writer, key, |before| {
                let before = before.ok_or_else(|| unknown(key))?;
                let after = Document { deleted_at, ..before };
                Ok((Some(after.clone()), format!("{verb} {}", after.name), after))
            })
            .await
    }

    /// Removes documents whose time for restoring has passed.
    async fn purge(&self) -> Result<(), DocumentError> {
        let oldest = self.rows.now().saturating_sub(RESTORABLE);
        for owner in self.rows.owners().await? {
            let author = Author::person("purging");
            let writer = Writer { owner: owner.clone(), author, untrusted: None };
            for row in self.rows.all(&owner).await? {
                if row.body.deleted_at.is_some_and(|at| at < oldest) {
                    self.indexer.chunks.delete_chunks(&owner, &row.key).await?;
                    let note = format!("removed {}", row.body.name);
                    let gone = |_| Ok::<_, RowError>((None, note.clone(), ()));
                    self.rows.change(&writer, &row.key, gone).await?;
                }
            }
        }
        Ok(())
    }

    /// Finds a document by its id, or by its name ignoring case.
    pub(super) async fn find(
        &self,
        owner: &str,
        name: &str,
        deleted: bool,
    ) -> Result<Stored<Document>, DocumentError> {
        let name = name.trim();
        let mut all = self.rows.all(owner).await?;
        all.retain(|row| row.body.is_there() != deleted);
        if let Some(at) = all.iter().position(|row| row.key == name) {
            return Ok(all.swap_remove(at));
        }
        let folded = name.to_lowercase();
        let is_called = |row: &Stored<Document>| row.body.name.to_lowercase() == folded;
        match all.iter().filter(|row| is_called(row)).count() {
            0 => {
                let trusted = all.iter().filter(|row| row.body.untrusted.is_none());
                let near = similar_names(name, trusted.map(|row| row.body.name.as_str()));
                let near = near.into_iter().map(str::to_owned).collect();
                let name = name.chars().filter(|c| !c.is_control()).take(80).collect();
                Err(DocumentError::Unknown { name, near })
            }
            1 => all.into_iter().find(is_called).ok_or_else(|| unknown(name)),
            count => Err(DocumentError::Ambiguous { name: name.to_owned(), count }),
        }
    }
}

fn status_after(window: &TextWindow, chunks: u32) -> DocumentStatus {
    match window.next {
        Some(_) if chunks < MAX_CHUNKS => DocumentStatus::Indexing,
        Some(_) => DocumentStatus::Failed,
        None if window.problem.is_some() => DocumentStatus::Failed,
        None => DocumentStatus::Ready,
    }
}

fn problem_of(window: &TextWindow, chunks: u32) -> Option<String> {
    let is_full = chunks >= MAX_CHUNKS && window.next.is_some();
    let full =
        is_full.then_some("It is longer than a document can be; its beginning can be found.");
    window.problem.clone().or_else(|| full.map(str::to_owned))
}

fn unknown(name: &str) -> DocumentError {
    DocumentError::Unknown { name: name.to_owned(), near: Vec::new() }
}

/// Renders the first bytes of a digest in hexadecimal.
fn hex(digest: &[u8], bytes: usize) -> String {
    digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
